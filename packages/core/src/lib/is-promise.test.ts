import { setUp } from "@reporthook/test-support/receiver-setup";
import { describe, expect, it } from "vitest";

describe("promises", () => {
  it("a promise from the option signature is answered 503, with a line that names the option", async () => {
    const { send, lines, seeAll } = setUp({
      signature: () => Promise.reject(new Error("later")) as never,
    });
    seeAll();
    expect((await send("report.complete")).status).toBe(503);
    // Beside the line about handlers, of which there are none.
    expect(lines.map(({ fields }) => String(fields["error"]))).toContainEqual(
      expect.stringContaining("signature must answer at once, not with a promise"),
    );
  });

  it("a promise from the option parse parks the delivery, with a reason that names the option", async () => {
    const { send, receiver } = setUp({ parse: () => Promise.reject(new Error("later")) as never });
    receiver.on("report", () => {});
    const { body } = await send("report.complete");
    await receiver.idle();
    const entry = await receiver.inbox.get(body.id);
    expect(entry?.state).toBe("dead");
    expect(entry?.reason?.message).toContain("parse must answer at once, not with a promise");
  });
});
