/** What Prometheus has seen, a value a minute, and whether an alert fires then. */
export interface RuleCase {
  readonly alert: string;
  readonly severity: "warning" | "critical";
  readonly when: string;
  readonly series: Readonly<Record<string, string>>;
  /** From the beginning; over a day there is a value each half hour. */
  readonly atMin: number;
  readonly fires: boolean;
}

const receiver = 'job="app",messaging_destination_name="reports"';
const on = (metric: string, more = "", instance = "a"): string =>
  `${metric}{${receiver},instance="${instance}"${more}}`;
const status = (name: string): string =>
  on("reporthook_service_status", `,reporthook_status="${name}"`);
const waiting = (state: string): string =>
  on("reporthook_deliveries_waiting", `,reporthook_state="${state}"`);
const parked = (reason: string, instance = "a"): string =>
  on("reporthook_deliveries_parked", `,reporthook_reason="${reason}"`, instance);
const bucket = (le: string): string =>
  on("reporthook_acknowledge_duration_seconds_bucket", `,le="${le}"`);
const ready = on("reporthook_ready");
const oldest = on("reporthook_deliveries_oldest_seconds");
const unverified = on("reporthook_deliveries_oldest_unverified_seconds");
const rejected = on("reporthook_deliveries_stored", ',reporthook_state="rejected"');

/** Cases of one alert at one severity. */
function cases(
  alert: string,
  severity: RuleCase["severity"],
  ...given: readonly (readonly [
    is: "fires" | "silent",
    when: string,
    atMin: number,
    series: Readonly<Record<string, string>>,
  ])[]
): RuleCase[] {
  return given.map(([is, when, atMin, series]) => ({
    ...{ alert, severity, when, atMin, series, fires: is === "fires" },
  }));
}

/** Cases of every alert: one that fires, and those that are near. */
export const ruleCases: readonly RuleCase[] = [
  ...cases(
    "ReporthookMissing",
    "critical",
    ["fires", "nothing is measured", 3, { up: "1x3" }],
    ["silent", "nothing is measured for a minute", 1, { up: "1x3" }],
    ["silent", "a receiver is measured, though not ready", 3, { [ready]: "0x3" }],
  ),
  ...cases(
    "ReporthookNotReady",
    "critical",
    [
      "fires",
      "one of two instances is not ready",
      3,
      { [ready]: "0x3", [on("reporthook_ready", "", "b")]: "1x3" },
    ],
    ["silent", "all are ready", 3, { [ready]: "1x3" }],
    ["silent", "it was not ready for less than a minute", 2, { [ready]: "1 1 0 1" }],
  ),
  ...cases(
    "ReporthookSlowAnswers",
    "warning",
    [
      "fires",
      "2 in 100 take over 1 s",
      20,
      { [bucket("1")]: "0+98x20", [bucket("2.5")]: "0+100x20", [bucket("+Inf")]: "0+100x20" },
    ],
    [
      "silent",
      "1 in 200 takes over 1 s",
      20,
      { [bucket("1")]: "0+199x20", [bucket("2.5")]: "0+200x20", [bucket("+Inf")]: "0+200x20" },
    ],
    ["silent", "nothing comes", 20, { [bucket("1")]: "5x20", [bucket("+Inf")]: "9x20" }],
  ),
  ...cases(
    "ReporthookSlowAnswers",
    "critical",
    [
      "fires",
      "2 in 100 take over 5 s",
      20,
      {
        [bucket("1")]: "0+50x20",
        [bucket("5")]: "0+98x20",
        [bucket("10")]: "0+100x20",
        [bucket("+Inf")]: "0+100x20",
      },
    ],
    [
      "silent",
      "all take under 2.5 s",
      20,
      { [bucket("1")]: "0+50x20", [bucket("2.5")]: "0+100x20", [bucket("+Inf")]: "0+100x20" },
    ],
  ),
  ...cases(
    "ReporthookKeyRefused",
    "critical",
    [
      "fires",
      "the key is refused for 2 minutes",
      3,
      { [status("refused")]: "1x5", [status("ok")]: "0x5" },
    ],
    [
      "silent",
      "it was refused for a minute",
      3,
      { [status("refused")]: "0 1 0 0", [status("ok")]: "1 0 1 1" },
    ],
    [
      "silent",
      "the service is away",
      3,
      { [status("refused")]: "0x5", [status("unreachable")]: "1x5" },
    ],
  ),
  ...cases(
    "ReporthookServiceUnreachable",
    "warning",
    ["fires", "the service is away for 2 minutes", 3, { [status("unreachable")]: "1x5" }],
    ["silent", "the service answers", 3, { [status("unreachable")]: "0x5", [status("ok")]: "1x5" }],
  ),
  ...cases(
    "ReporthookVerificationBehind",
    "warning",
    ["fires", "a verdict is over a minute late", 5, { [unverified]: "70x5" }],
    ["silent", "verdicts come in time", 5, { [unverified]: "20x5" }],
    ["silent", "it was late for a moment", 5, { [unverified]: "0 0 0 70 10 10" }],
  ),
  ...cases(
    "ReporthookVerificationBehind",
    "critical",
    [
      "fires",
      "3 minutes late while the service answers",
      5,
      { [unverified]: "200x5", [status("ok")]: "1x5" },
    ],
    [
      "silent",
      "3 minutes late while the service is away",
      5,
      { [unverified]: "200x5", [status("ok")]: "0x5" },
    ],
  ),
  ...cases(
    "ReporthookHandlersBehind",
    "warning",
    ["fires", "the oldest waits for over 10 minutes", 5, { [oldest]: "660+60x5" }],
    ["silent", "it is tried the tenth time after 8 minutes", 5, { [oldest]: "480x5" }],
  ),
  ...cases(
    "ReporthookHandlersBehind",
    "critical",
    ["fires", "the oldest waits for over an hour", 5, { [oldest]: "3660+60x5" }],
    ["silent", "half an hour", 5, { [oldest]: "1800x5" }],
  ),
  ...cases(
    "ReporthookBacklog",
    "warning",
    [
      "fires",
      "10,001 wait, in both states together",
      5,
      { [waiting("received")]: "6000x5", [waiting("verified")]: "4001x5" },
    ],
    [
      "silent",
      "10,000 wait",
      5,
      { [waiting("received")]: "6000x5", [waiting("verified")]: "4000x5" },
    ],
  ),
  ...cases(
    "ReporthookBacklog",
    "critical",
    ["fires", "50,001 wait", 5, { [waiting("verified")]: "50001x5" }],
    ["silent", "20,000 wait", 5, { [waiting("verified")]: "20000x5" }],
  ),
  ...cases(
    "ReporthookParked",
    "warning",
    ["fires", "one more than a day ago", 1_500, { [parked("expired")]: "0x47 1x2" }],
    [
      "fires",
      "one, and a day ago nothing was measured",
      1_500,
      { [parked("expired")]: "_x48 1x2" },
    ],
    ["silent", "as many as a day ago", 1_500, { [parked("expired")]: "7x50" }],
    ["silent", "those of yesterday were released", 1_500, { [parked("expired")]: "7x47 0x2" }],
  ),
  ...cases(
    "ReporthookParked",
    "critical",
    [
      "fires",
      "10 more for one reason within 10 minutes, on another instance",
      20,
      { [parked("expired")]: "0x15", [parked("expired", "b")]: "_x15 10x5" },
    ],
    ["silent", "9 more", 20, { [parked("expired")]: "0x15 9x5" }],
    [
      "silent",
      "10 more for two reasons",
      20,
      { [parked("expired")]: "0x15 5x5", [parked("poison")]: "0x15 5x5" },
    ],
  ),
  ...cases(
    "ReporthookForged",
    "warning",
    ["fires", "10 more than a day ago", 1_500, { [rejected]: "3x47 13x2" }],
    ["silent", "9 more than a day ago", 1_500, { [rejected]: "3x47 12x2" }],
  ),
];
