import { chmod, rename, writeFile } from 'node:fs/promises';

/** Replaces the file by a rename: node_exporter, which reads files that end in .prom, sees a complete one. It need not survive a power cut. */
export const writeMetricsFile = async (file: string, text: string): Promise<void> => {
  const fresh = `${file}.new`;
  await writeFile(fresh, text, { mode: 0o644 });
  // Also where the process has a narrower umask.
  await chmod(fresh, 0o644);
  await rename(fresh, file);
};
