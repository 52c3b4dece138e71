import { getEventListeners } from "node:events";
import { gate, never } from "@reporthook/test-support/gate";
import {
  clientOf,
  failures,
  key,
  operations,
  rejection,
  serve,
} from "@reporthook/test-support/service-calls";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { ServiceError } from "../errors.ts";
import type { Fetch } from "./call-service.ts";

const rejects: Fetch = (_, { signal }) =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

afterEach(() => {
  vi.useRealTimers();
});

describe("no answer in time", () => {
  const silent = () => serve(() => {});

  it("callService() rejects with service_timeout when the server never answers", async () => {
    for (const error of await failures({ baseUrl: await silent(), timeoutMs: 50 })) {
      expect(error).toBeInstanceOf(ServiceError);
      expect(error).toMatchObject({ code: "service_timeout", retryable: true });
      expect(error.message).toContain("50 ms");
      expect(error.serviceStatus).toBeUndefined();
    }
  });

  /** Answers that begin with the status and never end; time passes once `number` have it. */
  async function endless(status: number, number: number) {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const baseUrl = await serve((_, response) => void response.writeHead(status).write("half"));
    let answered = 0;
    const fetch: Fetch = async (...given) => {
      const answer = await globalThis.fetch(...given);
      if (++answered === number) setImmediate(() => vi.advanceTimersByTime(100));
      return answer;
    };
    return { baseUrl, timeoutMs: 100, fetch };
  }

  it.each([
    [200, 1, false],
    [500, 0, true],
  ])(
    "callService() rejects with service_timeout and the status when the body of a %i never ends",
    async (status, from, retryable) => {
      const options = await endless(status, 4 - from);
      for (const error of await failures(options, operations(options).slice(from))) {
        expect(error).toMatchObject({ code: "service_timeout", serviceStatus: status, retryable });
        expect(error.message).toMatch(
          new RegExp(`answered ${status}, but did not end within 100 ms`),
        );
      }
    },
  );

  it.each<[string, Fetch]>([
    ["ignores its signal", never],
    ["rejects as soon as it is aborted", rejects],
  ])("callService() rejects with service_timeout when the given fetch %s", async (_, fetch) => {
    for (const error of await failures({ baseUrl: "http://a.example", timeoutMs: 50, fetch })) {
      expect(error.code).toBe("service_timeout");
    }
  });

  it("callService() gives a body up when it comes after the end, or stays open beyond it", async () => {
    let cancelled = 0;
    const open = () =>
      new Response(new ReadableStream({ pull: () => never(), cancel: () => void cancelled++ }));
    const late: Fetch = async () => {
      await new Promise((resolve) => setTimeout(resolve, 60));
      return open();
    };
    await failures({ baseUrl: "http://a.example", timeoutMs: 30, fetch: late });
    await vi.waitFor(() => expect(cancelled).toBe(4), 60_000);
    const beyond = { baseUrl: "http://a.example", timeoutMs: 30, fetch: async () => open() };
    const [authorize, ...others] = operations(beyond);
    await expect(authorize?.()).resolves.toBe("valid");
    await failures(beyond, others);
    await vi.waitFor(() => expect(cancelled).toBe(8), 60_000);
  });

  it("callService() cancels a body when it is longer than 64 KiB", async () => {
    let cancelled = 0;
    const pull = (stream: ReadableStreamDefaultController) => {
      stream.enqueue(new Uint8Array(10_000).fill(0x78));
    };
    const fetch: Fetch = async () =>
      new Response(new ReadableStream({ pull, cancel: () => void cancelled++ }));
    await expect(clientOf({ fetch }).authorize("s")).resolves.toBe("valid");
    expect(cancelled).toBe(1);
  });

  it("callService() sends nothing when the key comes after the end", async () => {
    const fetch = vi.fn<Fetch>();
    const apiKey = () => new Promise<string>((resolve) => setTimeout(resolve, 60, key));
    const options = { baseUrl: "http://a.example", timeoutMs: 30, fetch, apiKey };
    for (const error of await failures(options)) {
      expect(error.code).toBe("service_timeout");
      expect(error.message).toContain("apiKey");
    }
    await new Promise((resolve) => setTimeout(resolve, 80));
    expect(fetch).not.toHaveBeenCalled();
  });
});

describe("an event loop that stood still", () => {
  /** A call with 5 s of time, whose answer is to come; `pass` has time pass for the process, and fewer for its timers. */
  async function asking() {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    let now = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
    onTestFinished(() => clock.mockRestore());
    let answer = (_: Response): void => {};
    const fetch: Fetch = () =>
      new Promise((resolve) => {
        answer = resolve;
      });
    const client = clientOf({ timeoutMs: 5_000, fetch });
    const outcomes: unknown[] = [];
    const asked = client.authorize("s").catch((error: ServiceError) => error);
    void asked.then((outcome) => void outcomes.push(outcome));
    const pass = async (ms: number, timersMs = ms): Promise<void> => {
      now += ms;
      vi.advanceTimersByTime(timersMs);
      await new Promise((resolve) => setImmediate(resolve));
    };
    await pass(0);
    return { asked, outcomes, pass, answer: (response: Response) => answer(response) };
  }

  it("callService() takes an answer that came while the event loop stood still", async () => {
    const { asked, outcomes, pass, answer } = await asking();
    await pass(45_000, 5_000);
    expect(outcomes).toEqual([]);
    answer(new Response(null, { status: 406 }));
    expect(await asked).toBe("invalid");
    expect(vi.getTimerCount()).toBe(0);
  });

  it("callService() rejects with service_timeout a second after a standstill that brought no answer", async () => {
    const { asked, outcomes, pass } = await asking();
    await pass(45_000, 5_000);
    await pass(999);
    expect(outcomes).toEqual([]);
    await pass(1);
    expect(outcomes).toHaveLength(1);
    expect(await asked).toMatchObject({ code: "service_timeout", retryable: true });
  });

  it("callService() rejects with service_timeout at once when the event loop was busy for less than a second", async () => {
    const { asked, outcomes, pass } = await asking();
    await pass(5_900, 5_000);
    expect(outcomes).toHaveLength(1);
    expect(await asked).toMatchObject({ code: "service_timeout" });
  });
});

describe("the caller's signal", () => {
  const reason = new Error("changed my mind");

  it("authorize() rejects with the signal's reason and sends nothing when it is aborted before", async () => {
    const fetch = vi.fn<Fetch>();
    const client = clientOf({ fetch });
    const signal = AbortSignal.abort(reason);
    await expect(client.authorize("s", { signal })).rejects.toBe(reason);
    expect(fetch).not.toHaveBeenCalled();
  });

  it("authorize() rejects with the signal's reason and hangs up when it is aborted meanwhile", async () => {
    const controller = new AbortController();
    const hungUp = gate();
    const baseUrl = await serve((request) => {
      request.socket.once("close", hungUp.open);
      controller.abort(reason);
    });
    const asked = clientOf({ baseUrl }).authorize("s", { signal: controller.signal });
    await expect(asked).rejects.toBe(reason);
    await hungUp.opened;
  });

  it("authorize() adds one listener to a signal, however many calls have it, and leaves none and no timer", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const { signal } = new AbortController();
    const added = vi.spyOn(signal, "addEventListener");
    // Node keeps a signal of AbortSignal.any() as long as it has a listener.
    for (const fetch of [async () => new Response(""), () => Promise.reject(new Error("no"))]) {
      const client = clientOf({ fetch });
      const calls = Array.from({ length: 12 }, () => client.authorize("s", { signal }));
      await Promise.allSettled(calls);
    }
    expect(added).toHaveBeenCalledTimes(2);
    expect(getEventListeners(signal, "abort")).toEqual([]);
    expect(warned).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("authorize() rejects with the signal's reason, however early it comes and whatever fetch makes of it", async () => {
    const reason = new Error("mine");
    const baseUrl = await serve(() => {});
    for (const fetch of [undefined, rejects]) {
      for (const isEarly of [true, false]) {
        const client = clientOf({ baseUrl, fetch, timeoutMs: 60_000 });
        const aborting = new AbortController();
        const asked = rejection(client.authorize("s", { signal: aborting.signal }));
        if (!isEarly) await new Promise((resolve) => setTimeout(resolve, 20));
        aborting.abort(reason);
        expect(await asked).toBe(reason);
      }
    }
  });
});
