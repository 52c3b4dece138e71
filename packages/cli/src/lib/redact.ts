/** The emulator's default key, which is not secret: it is printed to be copied. */
export const publicKey = "test-api-key";
// As in core: a shorter key could be guessed, and removing it would leave holes in every text.
const minSecretLength = 8;

/**
 * Redacts an API key of at least 8 characters (plain, percent-encoded and JSON-escaped), tokens of callback URLs, and
 * passwords in URLs (up to the last @, as in the URL syntax).
 */
export function createTextRedactor(apiKey: string | undefined): (text: string) => string {
  if (apiKey === undefined || apiKey.length < minSecretLength) return redactOthers;
  if (apiKey === publicKey) return redactOthers;
  const forms = new Set([apiKey, encoded(apiKey), JSON.stringify(apiKey).slice(1, -1)]);
  // The longest first: a form may be part of another.
  const sorted = [...forms].sort((one, other) => other.length - one.length);
  return (text) =>
    sorted.reduce((left, form) => left.replaceAll(form, "[api key]"), redactOthers(text));
}

function redactOthers(text: string): string {
  return text
    .replaceAll(/(callback_token(?:=|%3D))[\w.-]+/gi, "$1[token]")
    .replaceAll(/(:\/\/[^\s/:@"]*:)[^\s/?#"]+(?=@)/g, "$1[password]");
}

function encoded(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    // Malformed text can't be percent-encoded.
    return text;
  }
}
