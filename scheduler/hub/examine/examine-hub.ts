import { isFleetError, toFleetError } from '#bundles/errors';
import { openKeyDirectory } from '../../keys/key-directory.ts';
import {
  type Configuration,
  findMistakes,
  type GivenSettings,
  readConfiguration,
  requireSetting,
} from '../../settings/configuration.ts';
import { labelsOfFacts } from '../sites/enroll/fact-labels.ts';
import { officeParts } from './examine-office.ts';
import { peopleParts } from './examine-people.ts';
import { receiverParts } from './examine-receivers.ts';
import { sourceParts } from './examine-sources.ts';
import { type Finding, findingOf, type Part, tryPart } from './finding.ts';

export type ExamineOptions = {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly now: Date;
  readonly signal: AbortSignal;
  /** Address that mail servers are given a test message for; undefined: none is sent. */
  readonly sendTo?: string | undefined;
};

/**
 * Tries a configuration without starting a hub: reads every file that it names, and asks every program that the hub would speak to. Changes
 * nothing there, and sends nothing unless `sendTo` is given.
 * @returns what was found, the file first. With a mistake in the file nothing else is tried.
 */
export const examineHub = async (
  given: GivenSettings,
  options: ExamineOptions,
): Promise<readonly Finding[]> => {
  const { cwd, env, now, signal, sendTo } = options;
  try {
    const mistakes = findMistakes(given, cwd);
    if (mistakes.length > 0) return mistakes.map((one) => findingOf(CONFIGURATION, one));
    const configuration = await readConfiguration(given, cwd);
    const fleet = async (): Promise<string> => {
      const { root } = await openKeyDirectory(requireSetting(configuration, 'keys'));
      return root.fleet;
    };
    const parts = [
      ...officeParts(configuration, now),
      ...sourceParts(configuration, { cwd, env }),
      ...peopleParts(configuration, now),
      ...receiverParts(configuration, { env, now, fleet, sendTo }),
      ...factParts(configuration),
    ];
    const file = describeFile(configuration);
    // At once: one that does not answer takes its time alone.
    return [file, ...(await Promise.all(parts.map((part) => tryPart(configuration, part, signal))))];
  } catch (error) {
    if (!isFleetError(error)) throw error;
    return [findingOf(CONFIGURATION, toFleetError(error))];
  }
};

const CONFIGURATION = 'configuration';

const describeFile = ({ file }: Configuration): Finding => ({
  name: CONFIGURATION,
  verdict: 'good',
  message: file === undefined ? 'there is no file; flags and variables alone' : `${file} has no mistake`,
});

/** Patterns are compiled when a machine enrols. */
const factParts = ({ factLabels }: Configuration): readonly Part[] =>
  (factLabels ?? []).map((rule, number) => ({
    name: `label ${rule.label}`,
    path: ['factLabels', number, 'pattern'],
    attempt: async () => {
      labelsOfFacts([rule], { [rule.fact]: '' });
      return `of the fact ${rule.fact}`;
    },
  }));
