declare module "cloudflare:workers" {
  /** The bindings. */
  export const env: { readonly REPORTS_URL: string; readonly REPORTS_API_KEY: string };
}
