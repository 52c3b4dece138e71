/** The emulator's own key, which is no secret: it is printed for the user to copy. */
export const publicKey = "test-api-key";

/**
 * Takes an API key out of text, as it is, percent-encoded and JSON-escaped, the tokens of callback URLs, and the passwords
 * of all: up to the last @, as URLs are read.
 */
export function createRedactor(apiKey: string | undefined): (text: string) => string {
  if (apiKey === undefined || apiKey === "" || apiKey === publicKey) return withoutOthers;
  const forms = new Set([apiKey, encoded(apiKey), JSON.stringify(apiKey).slice(1, -1)]);
  // The longest first: a form may be part of another.
  const sorted = [...forms].sort((one, other) => other.length - one.length);
  return (text) =>
    sorted.reduce((left, form) => left.replaceAll(form, "[api key]"), withoutOthers(text));
}

function withoutOthers(text: string): string {
  return text
    .replaceAll(/(callback_token(?:=|%3D))[\w.-]+/gi, "$1[token]")
    .replaceAll(/(:\/\/[^\s/:@"]*:)[^\s/?#"]+(?=@)/g, "$1[password]");
}

function encoded(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    // No well-formed text: nothing can have encoded it.
    return text;
  }
}
