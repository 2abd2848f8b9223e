import { formatError } from '#bundles/errors';
import { fileDiff } from '../../author/file-diff.ts';
import { refuseMistakes } from '../../author/prepare-edit.ts';
import { prepareSiteValues, saveSiteValues } from '../../author/write-site-values.ts';
import type { Hub } from '../../hub/hub.ts';
import {
  decideInRepository,
  type SelectedValues,
  type WrittenValues,
} from '../../hub/promote/values/decide-in-repository.ts';
import { platformOptions } from '../../load/platform/platform-options.ts';
import type { Configuration } from '../../settings/configuration.ts';
import { appendToLog } from '../append-to-log.ts';
import type { Speaker } from './change-many.ts';

export type RepositoryTerms = {
  readonly configuration: Configuration;
  readonly values: readonly SelectedValues[];
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  readonly now: Date;
  readonly dryRun: boolean;
};

/**
 * Decides values of sites in the repository of the platform: Configs with their selectors, as one commit or pull request. The platform is validated with
 * them before anything is written. With `dryRun` it prints the difference of the files.
 * @returns the answer for --json
 * @throws FleetError as decideInRepository, prepareSiteValues and saveSiteValues
 */
export const setInRepository = async (
  hub: Hub,
  { configuration, values, env, signal, now, dryRun }: RepositoryTerms,
  speaker: Speaker,
): Promise<unknown> => {
  if (values.every(({ changes }) => changes.length === 0)) return { dryRun };
  const platform = platformOptions(configuration, { cwd: process.cwd(), env, signal });
  const options = { ...platform, env, signal, configuration };
  const written = await decideInRepository(hub, values, {
    now,
    review: configuration.siteValues,
    write: async (asked) => {
      const prepared = await prepareSiteValues(options, asked);
      for (const one of prepared.check.problems) speaker.say(formatError(one));
      refuseMistakes(prepared);
      const { edit } = prepared;
      if (!dryRun) return await saveSiteValues(prepared, asked, options);
      speaker.log(edit.files.map(fileDiff).join('\n').trimEnd());
      const none = { commit: undefined, proposal: undefined, pullRequest: undefined };
      const files = edit.files.map(({ path }) => path);
      return { subject: edit.subject, outcome: 'unchanged', place: '', files, ...none };
    },
  });
  const { subject, files } = written;
  if (dryRun) return { dryRun, subject, files };
  if (written.outcome !== 'unchanged')
    for (const line of await appendToLog(hub, 'sites set', now)) speaker.say(line);
  speaker.log(writtenLine(written));
  return { dryRun, ...written };
};

const writtenLine = ({ subject, outcome, place, commit, pullRequest, proposal }: WrittenValues): string => {
  switch (outcome) {
    case 'written':
      return `${subject}: written in ${place}; the sites get it with the next build`;
    case 'pushed':
      return `${subject}: ${place} pushed ${commit?.slice(0, 12) ?? ''}; the sites get it with the next build`;
    case 'proposed':
      return `${subject}: ${place} proposed by ${pullRequest ?? proposal ?? ''}; the sites get it once it is merged and built`;
    case 'unchanged':
      return `${subject}: ${place} has it already`;
  }
};
