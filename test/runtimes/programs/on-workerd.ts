// A Worker that runs the suite named by the path.
import type { Suite } from "../runtimes.ts";
import { suitesEverywhere } from "./everywhere.ts";

export default {
  async fetch(request: Request): Promise<Response> {
    const name = decodeURIComponent(new URL(request.url).pathname.slice(1));
    return Response.json(await suitesEverywhere[name as Suite]?.());
  },
};
