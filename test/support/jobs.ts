import { memoryInbox } from "@reporthook/core";
import type { Job, Parse, Registration } from "@reporthook/core/internals";
import {
  EventCounters,
  type HandleOptions,
  HandleStage,
  KnownRequests,
  LivedClock,
  loggerOf,
  NewsDesk,
  Recognizer,
  Reporter,
  type VerifyOptions,
  VerifyStage,
} from "@reporthook/core/internals";
import { createEmulator } from "@reporthook/emulator";

/** Both stages of a receiver whose authorize does as it is told, and the jobs for them. */
export interface TestStages {
  readonly verify: VerifyStage;
  readonly handle: HandleStage;
  readonly registrations: Registration[];
  readonly clock: ReturnType<typeof createEmulator>["clock"];
  /** How the service answered last, as the receiver's health tells. */
  service(): string;
  /** Makes a delivery that has just arrived, with the given parts. */
  job(given?: Partial<Job>): Job;
}

/** Makes the stages with the given options. */
export function testStages(
  authorize: () => unknown,
  { parse, ...rest }: Partial<VerifyOptions & HandleOptions> & { readonly parse?: Parse } = {},
): TestStages {
  const { clock } = createEmulator();
  const registrations: Registration[] = [];
  const seen = {
    ack: "stored",
    clock: new LivedClock(clock),
    logger: loggerOf("reports", {}),
    redact: (text: string) => text.replaceAll("canary", "[api key]"),
  } as const;
  const reporter = new Reporter({
    ...seen,
    name: "reports",
    inbox: memoryInbox(),
    bind: (run) => run,
    observe: {},
    instrument: undefined,
  });
  const desk = new NewsDesk(seen.clock, false);
  const lookout = {
    health: () => Promise.reject(new Error("unused")),
    look: null,
    reports: [],
    wallOffset: 0,
  };
  const numbers = () => new EventCounters().numbers;
  reporter.instrument({ lookout, numbers }, [desk]);
  const options: VerifyOptions & HandleOptions = {
    ...seen,
    client: { authorize: async () => authorize() } as VerifyOptions["client"],
    reporter,
    recognizer: new Recognizer(parse),
    registrations,
    requests: new KnownRequests(memoryInbox(), "reports", seen.clock),
    expired: "hold",
    reusedSignature: "accept",
    concurrency: { verify: 16, handle: 8 },
    retry: { attempts: 3, minMs: 1_000, maxMs: 10_000 },
    handlerTimeoutMs: 1_000,
    ...rest,
  };
  const job = (given: Partial<Job> = {}): Job => ({
    id: "1",
    state: "received",
    stage: "verify",
    reason: null,
    type: null,
    reportId: null,
    receivedAt: new Date(clock.now()),
    arrivedAt: clock.now(),
    attempts: 0,
    nextAttemptAt: null,
    lastError: null,
    error: null,
    changedAt: new Date(clock.now()),
    requestId: null,
    signature: "s",
    url: "/",
    context: null,
    headers: {},
    verification: null,
    released: false,
    retryState: null,
    sameSignatureAs: null,
    body: new TextEncoder().encode('{"status":"complete","id":7}'),
    ...given,
  });
  return {
    verify: new VerifyStage(options),
    handle: new HandleStage(options),
    ...{ registrations, clock, job, service: () => desk.news.service },
  };
}
