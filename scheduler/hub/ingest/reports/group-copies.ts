import { type Digest, digestOf } from '#bundles/digest';
import { parseEnvelope } from '#bundles/formats/statements/envelope';
import type { OpenMedium } from '#bundles/formats/medium/medium';
import { type FoundReport, readStatementOf } from '#bundles/trust/reports/find-reports';
import { inParallel } from '#bundles/in-parallel';
import { abortIfAsked, orRefuse, type Refused } from '../../refused.ts';

/** Reports whose statements say one and the same, at least one, sorted by path. Not verified. */
export type Copies = readonly [FoundReport, ...FoundReport[]];

/**
 * Groups reports of one folder by what their statements say, which are small, so that the events of each are read once however many
 * names, links or spellings it has. Reports without a statement are refused.
 * @returns in the order of the first path
 */
export const groupCopies = async (
  medium: OpenMedium,
  reports: readonly FoundReport[],
  refused: Refused[],
  signal: AbortSignal | undefined,
): Promise<readonly Copies[]> => {
  const read = await inParallel(reports, WIDTH, async (report) => {
    abortIfAsked(signal);
    const own: Refused[] = [];
    const digest = await orRefuse(own, report.path, async () =>
      digestOf(parseEnvelope(await readStatementOf(medium, report), report.path).payload),
    );
    return { report, own, digest };
  });
  const groups = new Map<Digest, [FoundReport, ...FoundReport[]]>();
  for (const { report, own, digest } of read) {
    refused.push(...own);
    if (digest === undefined) continue;
    const group = groups.get(digest);
    if (group) group.push(report);
    else groups.set(digest, [report]);
  }
  return [...groups.values()];
};

/** Statements that are read at a time: as many as one lane can wait for while another parses. */
const WIDTH = 8;
