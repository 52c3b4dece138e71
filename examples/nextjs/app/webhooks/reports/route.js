import { receiver } from "../../../receiver.js";

export const POST = (request) => receiver.fetch(request);
