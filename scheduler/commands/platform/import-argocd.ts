import { importCommand, TOOL_FLAGS } from './import-command.ts';

export default importCommand({
  tool: 'argocd',
  own: { root: TOOL_FLAGS.root, clusters: TOOL_FLAGS.clusters },
  description: `Writes a platform from a Git repository of Argo CD, builds it, and compares the objects of each cluster.

Reads Applications, ApplicationSets (list, git, clusters, matrix, merge) and AppProjects, also those that Applications bring. What cannot be written is listed with file and line, also in IMPORT.md. Secrets are not copied in clear.`,
  examples: [
    '<%= config.bin %> <%= command.id %> https://github.com/me/deployments@main --fleet acme --to platform',
    '<%= config.bin %> <%= command.id %> ./deployments --root apps --clusters clusters.yaml --fleet acme --to platform',
  ],
});
