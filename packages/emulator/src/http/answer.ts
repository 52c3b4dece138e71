/** An answer of the service, before it becomes a `Response` or is sent over a socket; `body` is JSON. */
export interface ServiceReply {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Thrown to answer with an error. The service's document shows no error body, so all have the same form. */
export class Refused extends Error {
  readonly answer: ServiceReply;

  constructor(status: number, errors: readonly string[], headers?: Record<string, string>) {
    super(errors.join(" "));
    this.answer = { status, body: { errors }, ...(headers && { headers }) };
  }
}

/** Thrown to break the connection instead of answering. */
export class Dropped extends Error {}

/** The bytes of an answer; null for a status without body. */
export function bodyText({ status, body }: ServiceReply): string | null {
  return [204, 205, 304].includes(status) ? null : JSON.stringify(body);
}
