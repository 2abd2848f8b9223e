import type { ChartReference } from '../../load/charts/manifest-settings.ts';
import type { Tools } from '../../load/applications/tools/tool.ts';
import { type Charts, chartKey } from '../../load/charts/charts.ts';
import type { Content, Contents, WantedContent } from './content.ts';
import type { ContentLocks } from '../../model/content-locks.ts';
import { memoryContent } from './memory-content.ts';
import type { Unxz } from './debs/read-deb.ts';
import { FleetError } from '#bundles/errors';
import { runTool } from '../../load/applications/tools/run-tool.ts';
import { workFolder } from '../../load/applications/tools/work-folder.ts';

/** Access to the contents of packages, for one platform and one run. */
export type ContentAccess = {
  readonly get: (wanted: WantedContent) => Promise<Content>;
  /** Lock entries of the platform. */
  readonly locks: ContentLocks;
  /** Lock entries of images. */
  readonly imageLocks: ReadonlyMap<string, string>;
  /** The archive of a chart. */
  readonly chart: (reference: ChartReference) => Promise<Content>;
  /** @param subject deployment target, for messages */
  readonly unxz: (subject: string) => Unxz;
  readonly signal: AbortSignal;
};

export const contentAccess = (
  given: {
    readonly contents: Contents;
    readonly charts: Charts;
    readonly tools: Tools;
    readonly locks: ContentLocks;
    readonly imageLocks: ReadonlyMap<string, string>;
  },
  signal: AbortSignal,
): ContentAccess => ({
  locks: given.locks,
  imageLocks: given.imageLocks,
  get: async (wanted) => await given.contents(wanted, given.locks, signal),
  chart: async (reference) => {
    const { pinned, archive } = await given.charts(reference, given.imageLocks, signal);
    return { ...memoryContent(archive, chartKey(reference)), from: { chart: pinned } };
  },
  unxz: (subject) => unxz(given.tools, subject),
  signal,
});

/** Decompression bombs are stopped by limits on output and memory. */
const MEMORY = '128MiB';

/** Runs the program xz. @param subject the deployment target, for messages */
const unxz =
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
