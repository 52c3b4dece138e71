/** The service, and the work that a report is for. */
export interface Options {
  readonly serviceUrl: string;
  readonly apiKey: string;
  readonly publish: (reportId: string) => Promise<void>;
}

/** Verifies, works, and only then says which status to answer. */
export async function receiveByHand(
  { serviceUrl, apiKey, publish }: Options,
  signature: string | undefined,
  body: unknown,
): Promise<200 | 401> {
  if (signature === undefined || signature === "") return 401;
  const url = `${serviceUrl}/v1/webhooks/authorize?api_key=${apiKey}`;
  const headers = { "X-svc-authorization": signature };
  const verdict = await fetch(url, { method: "POST", headers });
  if (verdict.status !== 200) return 401;
  const { payload } = body as { payload: { status?: string; report_id: string } };
  if (payload.status === "complete") await publish(payload.report_id);
  return 200;
}
