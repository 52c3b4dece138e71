import { type NewDelivery, type ReceiverOptions, ServiceError } from "@reporthook/core";
import type { Job } from "@reporthook/core/internals";
import {
  Handlers,
  HandleStage,
  KnownRequests,
  ProcessState,
  Recognizer,
  Reporter,
  receiverSettingsOf,
  VerifyStage,
} from "@reporthook/core/internals";
import { Lookout, toolView } from "@reporthook/core/store";
import { manualClock } from "@reporthook/testing/internals";

/** Both stages of a receiver whose authorize does as it is told, and the jobs for them. */
export interface TestStages {
  readonly verify: VerifyStage;
  readonly handle: HandleStage;
  readonly handlers: Handlers;
  /** It stands still until it is advanced. */
  readonly clock: ReturnType<typeof manualClock>;
  /** How the service answered last, as the receiver's health tells. */
  service(): string;
  /** Makes a delivery that has just arrived, with the given parts. */
  job(given?: Partial<Job>): Job;
}

/** Makes the stages with the given options. */
export function testStages(
  authorize: () => unknown,
  options: Partial<ReceiverOptions> = {},
): TestStages {
  const clock = manualClock();
  const handlers = new Handlers();
  const settings = {
    ...receiverSettingsOf({
      client: { authorize: async () => authorize() } as ReceiverOptions["client"],
      clock,
      logger: false,
      retry: { attempts: 3, maxMs: 10_000 },
      handlerTimeoutMs: 1_000,
      ...options,
    }),
    redact: (text: string) => text.replaceAll("canary", "[api key]"),
  };
  const own = new ProcessState(settings.clock, false);
  const { ack, inbox, name, time } = settings;
  const view = { ...toolView(inbox, name), clock: settings.clock, time };
  const lookout = new Lookout(view);
  const reporter = new Reporter(settings, lookout, [own]);
  const recognizer = new Recognizer(settings.parse);
  const known = new KnownRequests(view, ack);
  const job = (given: Partial<Job> = {}): Job => testJob(clock.now(), given);
  return {
    verify: new VerifyStage(settings, recognizer, reporter, known, lookout),
    handle: new HandleStage(settings, recognizer, reporter, known, handlers),
    handlers,
    clock,
    job,
    service: () => own.report().service,
  };
}

/** Makes a delivery that arrived at this time, with the given parts. */
export function testJob(ms: number, given: Partial<Job> = {}): Job {
  return {
    id: "1",
    state: "received",
    stage: "verify",
    type: null,
    reportId: null,
    receivedAt: new Date(ms),
    arrivedAt: ms,
    attempts: 0,
    lastError: null,
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
  };
}

/** Makes a signed delivery that arrives at the beginning of time, with the given parts. */
export function testDelivery(given: Partial<NewDelivery> = {}): NewDelivery {
  return {
    id: "a",
    receiver: "reports",
    receivedAt: 0,
    arrivedAt: 0,
    key: null,
    signature: "s",
    url: "/",
    context: null,
    requestId: null,
    headers: {},
    body: new Uint8Array(),
    ...given,
  };
}

/** Makes the error of a client whose service answered with this status. */
export function answeredWith(status: number): ServiceError {
  const code = status === 401 ? "service_refused" : "service_failed";
  return new ServiceError(code, `POST … ${status}`, { serviceStatus: status, retryable: true });
}
