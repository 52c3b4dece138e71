import { receiver } from "../../../../receiver";

export const POST = (request: Request): Promise<Response> => receiver().fetch(request);
