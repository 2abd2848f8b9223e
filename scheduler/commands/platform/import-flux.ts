import { importCommand, TOOL_FLAGS } from './import-command.ts';

export default importCommand({
  tool: 'flux',
  own: { cluster: TOOL_FLAGS.cluster, variable: TOOL_FLAGS.variable },
  description: `Writes a platform from a Git repository of Flux, builds it, and compares the objects of each cluster.

Reads Kustomizations, HelmReleases and their sources, beginning with the folder of each cluster. What cannot be written is listed with file and line, also in IMPORT.md. Secrets are not copied in clear.`,
  examples: [
    '<%= config.bin %> <%= command.id %> ./fleet-infra --fleet acme --to platform',
    '<%= config.bin %> <%= command.id %> https://github.com/me/fleet-infra@main --fleet acme --to platform --environment staging=qa --environment production=prod',
  ],
});
