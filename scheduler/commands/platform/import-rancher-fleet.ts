import { importCommand, TOOL_FLAGS } from './import-command.ts';

export default importCommand({
  tool: 'rancher-fleet',
  own: { root: TOOL_FLAGS.root, clusters: TOOL_FLAGS.clusters },
  description: `Writes a platform from a Git repository of Rancher Fleet, builds it, and compares the objects of each cluster.

Reads GitRepos and folders with a fleet.yaml: plain YAML with overlays, kustomizations and charts, with the changes of targets. What cannot be written is listed with file and line, also in IMPORT.md. Secrets are not copied in clear.`,
  examples: [
    '<%= config.bin %> <%= command.id %> https://github.com/me/fleet-repo@main --fleet acme --to platform',
    '<%= config.bin %> <%= command.id %> ./fleet-repo --root apps --clusters clusters.yaml --fleet acme --to platform',
  ],
});
