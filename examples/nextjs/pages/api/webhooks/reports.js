// The Pages Router, whose body parser comes first.
import { nodeHandler } from "@reporthook/core/node";
import { receiver } from "../../../receiver.js";

export default nodeHandler(receiver);
