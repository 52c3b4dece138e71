export {
  type AlreadyParsed,
  bodyOf,
  incomingFromNode,
  type NodeRequest,
  type NodeResponse,
  nodeHandler,
  send,
} from "./http/node-handler.ts";
export { shutdown } from "./http/node-shutdown.ts";
