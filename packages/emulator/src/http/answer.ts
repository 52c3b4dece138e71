/** What the service answers, before it becomes a `Response` or goes over a socket; `body` is JSON. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Thrown to answer with an error; the service's document shows no error body, so one for all. */
export class Refused extends Error {
  readonly answer: Answer;

  constructor(status: number, errors: readonly string[], headers?: Record<string, string>) {
    super(errors.join(" "));
    this.answer = { status, body: { errors }, ...(headers && { headers }) };
  }
}

/** Thrown to break the connection instead of answering. */
export class Dropped extends Error {}

/** The bytes of an answer; null for a status that has none. */
export function bodyText({ status, body }: Answer): string | null {
  return [204, 205, 304].includes(status) ? null : JSON.stringify(body);
}
