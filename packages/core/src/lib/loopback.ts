/** Whether a host is this machine, so that nobody else can reach it or listen on the way to it. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/i.test(host);
}
