// npm ignores pnpm-workspace.yaml and would leave the workspace unlinked.
if (!process.env.npm_config_user_agent?.startsWith("pnpm/")) {
  console.error("\nThis repository uses pnpm. Run: npx --yes pnpm@10 test\n");
  process.exit(1);
}
