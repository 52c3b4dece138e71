/** Bytes of every body: what a notification of the service may look like, padded. */
export const bodyBytes = 600;

/** A body with `number` in it, so that no two are the same. */
export function bodyOf(number: string): string {
  const start = `{"event_type":"report.status","report_id":"r-${number}","status":"complete","pad":"`;
  return `${start.padEnd(bodyBytes - 2, "x")}"}`;
}

/** A signature with `number` in it. */
export function signatureOf(number: string): string {
  return `t=1700000000,v1=${number.padEnd(64, "0")}`;
}

/** `value` as eight characters. */
export function eight(value: number): string {
  return value.toString(16).padStart(8, "0");
}
