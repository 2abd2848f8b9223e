import type { Config } from '../../config/config.ts';
import type { Progress } from './progress.ts';
import { describeReported, describeImportResult, sentencesOf } from './sentences.ts';

/** The end of a visit as the technician sees it. */
export type VisitOutcome = {
  /** 'left-alone': a medium that is not ours; it is reported nowhere but in the journal. */
  readonly outcome: 'done' | 'attention' | 'stopped' | 'left-alone';
  readonly text: string;
};

/**
 * Judges how far the phases came. A phase that has a name but no result was killed.
 * @param mounted whether the device is still mounted; undefined while the phases are at work, for the file on the medium
 */
export const visitOutcomeOf = (
  language: Config['language'],
  progress: Progress | undefined,
  mounted: boolean | undefined,
): VisitOutcome => {
  const words = sentencesOf(language);
  const say = (outcome: 'done' | 'attention' | 'stopped', sentences: readonly string[]): VisitOutcome => {
    const last = mounted === undefined ? [] : [mounted ? words.mounted : words.unplug];
    return { outcome, text: [`${words.heading[outcome]}:`, ...sentences, ...last].join(' ') };
  };
  if (progress === undefined) return { outcome: 'left-alone', text: '' };
  switch (progress.phase) {
    case 'stopped':
      return say('stopped', [words.notAdmitted(progress.why)]);
    case 'mounting':
      return say('stopped', [words.unmountable]);
    case 'taking':
      return say('stopped', [words.interrupted]);
    case 'taken':
    case 'reporting': {
      const { taken } = progress;
      if (taken.kind === 'foreign')
        return { outcome: 'left-alone', text: 'not a medium of Fleet Ferry: ignored' };
      const said = describeImportResult(words, taken);
      return say('stopped', taken.kind === 'applied' ? [...said, words.interrupted] : said);
    }
    case 'reported': {
      const { taken, reported } = progress;
      const isGood = taken.kind === 'applied' && taken.failed.length === 0 && taken.held.length === 0;
      const outcome = isGood && reported.kind === 'written' ? 'done' : 'attention';
      return say(outcome, [...describeImportResult(words, taken), describeReported(words, reported)]);
    }
  }
};
