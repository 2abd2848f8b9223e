import { open, rename, rm } from 'node:fs/promises';

/**
 * Replaces the file by a rename: node_exporter, which reads files that end in .prom, sees a complete one. It need not survive a power cut.
 * The folder may belong to the user of node_exporter, whose links must not lead a daemon of root to another file.
 */
export const writeMetricsFile = async (file: string, text: string): Promise<void> => {
  const fresh = `${file}.new`;
  await rm(fresh, { force: true });
  await using handle = await open(fresh, 'wx');
  await handle.writeFile(text);
  // Also where the process has a narrower umask.
  await handle.chmod(0o644);
  await rename(fresh, file);
};
