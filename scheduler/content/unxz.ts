import { FleetError } from '#bundles/errors';
import { runTool } from '../application/run-tool.ts';
import type { Tools } from '../application/tool.ts';
import { workFolder } from '../application/work-folder.ts';
import type { Unxz } from './read-deb.ts';

/** A bomb is stopped by what it writes and by what it may hold in memory. */
const MEMORY = '128MiB';

/** Asks the program xz. @param subject the deployment target, for messages */
export const unxz =
  (tools: Tools, subject: string): Unxz =>
  async (bytes, maxBytes, signal) => {
    const tool = await tools('xz', subject);
    await using work = await workFolder([['control.tar.xz', bytes]]);
    const args = ['--decompress', '--stdout', '--single-stream', `--memlimit=${MEMORY}`, 'control.tar.xz'];
    const limits = { milliseconds: 60_000, bytes: maxBytes };
    try {
      const { code, out } = await runTool({ tool, args, cwd: work.files, home: work.home, limits, signal });
      if (code === 0) return out;
    } catch (error) {
      if (!(error instanceof FleetError) || error.code !== 'TEMPLATE_LIMIT') throw error;
      throw new FleetError('CONTENT_INVALID', 'its control archive is too large', { cause: error });
    }
    throw new FleetError('CONTENT_INVALID', 'its control archive is damaged');
  };
