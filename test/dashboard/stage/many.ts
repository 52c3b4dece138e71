import { idAt } from "@reporthook/core/internals";
import { errorKeyOf, states } from "@reporthook/core/store";
import { sqliteInbox } from "@reporthook/sqlite";
import { countIn, kindOf, loadDriver, namesOf } from "@reporthook/sqlite/internals";

// Per thousand: how many are in each state, by the number of the state.
const shares = [
  { state: 2, share: 970, type: "report.complete", reason: null },
  { state: 3, share: 8, type: "unknown", reason: "no_handler" },
  { state: 5, share: 12, type: "report.complete", reason: "attempts_used_up" },
  { state: 5, share: 2, type: "report.processing", reason: "do_not_retry" },
  { state: 4, share: 8, type: null, reason: "invalid_signature" },
] as const;
const types = ["report.complete", "report.processing", "report.internal_error"];

/** Fills a new file with so many deliveries, as an app would have left them in the last week; resolves to the id of one. */
export async function fill(path: string, number: number): Promise<string> {
  const inbox = sqliteInbox(path);
  await inbox.open();
  await inbox.close();
  const database = loadDriver(undefined).open(path);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; BEGIN");
  database.exec("INSERT INTO receiver (number, name) VALUES (1, 'reports')");
  const insert = database.prepare(
    `INSERT INTO delivery (seq, id, receiver, arrived_at, state, attempts, due_at, verification, type, report,
       reason, reason_message, last_error, error, changed_at, kept_as, url, headers, body)
     VALUES (?, ?, 1, ?, ?, 1, ?, 'valid', ?, ?, ?, ?, ?, ?, ?, 2, '/webhooks/reports', '{}', ?)`,
  );
  const body = new TextEncoder().encode(
    JSON.stringify({ status: "complete", pad: "x".repeat(500) }),
  );
  const counts = new Map<string, Record<string, number>>();
  const weekMs = 6 * 86_400_000;
  const begin = Date.now() - weekMs;
  let one = "";
  for (let seq = 1; seq <= number; seq++) {
    const at = begin + Math.floor((weekMs * seq) / number);
    const id =
      idAt(at) +
      seq
        .toString(32)
        .replace(/[ilou]/g, "z")
        .padStart(16, "0");
    const chosen = shareOf((seq * 7_919) % 1_000);
    const { state, reason } = chosen;
    const kind = kindOf({
      state: states[state] ?? "handled",
      lastTurnAt: null,
      verification: "valid",
      released: false,
      context: null,
      attempts: 1,
      reason: reason && { code: reason, message: "" },
    });
    const type = state === 2 ? (types[seq % 3] ?? null) : chosen.type;
    const error = reason === "attempts_used_up" ? "Error: ENOSPC: no space left on device" : null;
    insert.run(
      ...[seq, id, at, state, at, type, `report-${seq % (number / 4)}`],
      ...[
        reason,
        reason === null ? null : `because: ${reason}`,
        error,
        error && errorKeyOf(error),
        at,
        body,
      ],
    );
    countIn(counts, "reports", namesOf(kind), 1);
    if (seq === Math.floor(number / 2)) one = id;
  }
  const tally = database.prepare("INSERT INTO tally (receiver, counts) VALUES (1, ?)");
  tally.run(JSON.stringify(counts.get("reports")));
  database.exec("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
  return one;
}

function shareOf(place: number): (typeof shares)[number] {
  let before = 0;
  for (const one of shares) {
    before += one.share;
    if (place < before) return one;
  }
  return shares[0];
}
