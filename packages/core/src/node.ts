export {
  type AlreadyParsed,
  bodyOf,
  incomingFromNode,
  nodeHandler,
  send,
} from "./node-handler.ts";
