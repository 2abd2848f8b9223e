import { dirname } from 'node:path';
import type { SchedulerConfig } from '#bundles/schemas/types/scheduler-config';
import { fileDiff } from '../author/file-diff.ts';
import type { Finding } from '../hub/examine/finding.ts';
import { redactText } from '../model/repository-url.ts';
import { mistakesIn } from '../settings/configuration.ts';
import {
  type AnswerOptions,
  answerQuestions,
  chooseReceiver,
  type Conversation,
} from './answer-questions.ts';
import { type ConfigurationFile, type Draft, filesOfRoot, writeDraft } from './configuration-file.ts';
import { changedSettings, editSettings, settingsOf } from './edit-settings.ts';
import type { Topic } from './question.ts';
import { openSecretFiles } from './secret-files.ts';

/** A person at a terminal. */
export type SetupPerson = Conversation & {
  /** Asks without showing the answer. */
  readonly askHidden: (question: string) => Promise<string>;
};

export type SetupOptions = Pick<AnswerOptions, 'given'> & {
  readonly file: ConfigurationFile;
  /** Empty: the person chooses. */
  readonly topics: readonly Topic[];
  readonly all: readonly Topic[];
  readonly person: SetupPerson | undefined;
  /** Tries a configuration file; undefined: it is not tried. */
  readonly examine: ((path: string) => Promise<readonly Finding[]>) | undefined;
  /** Shows the change of the file, and what was found. */
  readonly show: (diff: string, findings: readonly Finding[]) => void;
};

export type SetupResult = {
  readonly topics: readonly string[];
  readonly changed: readonly string[];
  /** Files with secrets that setup wrote. */
  readonly secrets: readonly string[];
  readonly findings: readonly Finding[];
  readonly isWritten: boolean;
  /** Steps that are left to people, as sentences. */
  readonly next: readonly string[];
};

/**
 * Asks, edits the configuration, tries it, and writes it. Until it is written, the file is as it was.
 * @throws FleetError USAGE for answers, ABORTED, EDIT_CONFLICT, IO, PERMISSION
 */
export const runSetup = async (options: SetupOptions): Promise<SetupResult> => {
  const { file, given, person } = options;
  const before = settingsOf(file.text);
  const chosen = options.topics.length > 0 ? options.topics : await chooseTopics(options.all, before, person);
  const topics: Topic[] = [];
  for (const topic of chosen) topics.push(await chooseReceiver(topic, before, { given, person }));
  await using secrets = openSecretFiles({ file, askHidden: person?.askHidden });
  let settings = before;
  let answers: ReadonlyMap<string, string> = given;
  for (;;) {
    for (const topic of topics) {
      person?.say(`${topic.title}:`);
      settings = await answerQuestions(topic, settings, { given: answers, person });
      for (const one of secretsOf(topic, settings)) await secrets.provide(one);
    }
    const text = editSettings(file.text, settings);
    await using draft = await writeDraft(file, text);
    const findings = await tried(options, draft, text);
    options.show(diffOf(file, text), findings);
    const bad = findings.filter(({ name, verdict }) => verdict === 'bad' && isAbout(topics, settings, name));
    const decision = await decide(person, bad.length);
    if (decision === 'again') {
      // What was given on the command line did not work: now everything is asked.
      answers = new Map();
      continue;
    }
    if (decision === 'write') {
      await draft.replace();
      secrets.keep(topics.flatMap((topic) => secretsOf(topic, settings).map((one) => one.file)));
    }
    const written = decision === 'write' ? [...secrets.kept(), file.path] : [];
    return {
      topics: topics.map(({ name }) => name),
      changed: changedSettings(before, settings),
      secrets: decision === 'write' ? secrets.kept() : [],
      findings,
      isWritten: decision === 'write',
      next: [...(await filesOfRoot(written)), ...topics.flatMap(({ next }) => next(settings))],
    };
  }
};

const chooseTopics = async (
  all: readonly Topic[],
  settings: SchedulerConfig,
  person: SetupPerson | undefined,
): Promise<readonly Topic[]> => {
  const chosen: Topic[] = [];
  for (const topic of all) {
    const isSet = topic.isSet(settings);
    const question = `Set up ${topic.title}? It is ${isSet ? 'set [y/N]' : 'not set [Y/n]'} `;
    if (isYes((await person?.ask(question)) ?? 'n', !isSet)) chosen.push(topic);
  }
  return chosen;
};

const isYes = (answer: string, otherwise: boolean): boolean =>
  answer.trim() === '' ? otherwise : /^y(?:es)?$/i.test(answer.trim());

/** The files with secrets that the settings name. */
const secretsOf = ({ questions }: Topic, settings: SchedulerConfig) =>
  questions.flatMap(({ name, secret, when }) => {
    const file = when?.(settings) === false ? undefined : secret?.fileOf(settings);
    return secret === undefined || file === undefined ? [] : [{ name, file, from: secret.from }];
  });

/** Paths of the draft are those of the configuration. */
const tried = async (
  { file, examine }: SetupOptions,
  draft: Draft,
  text: string,
): Promise<readonly Finding[]> => {
  const mistakes = mistakesIn(text, file.path);
  if (!examine || mistakes.length > 0)
    return mistakes.map(({ message, at }) => ({ name: 'configuration', verdict: 'bad', message, at }));
  const found = await examine(draft.path);
  return found.map((finding) => ({
    ...finding,
    message: finding.message.replaceAll(draft.path, file.path),
    at: finding.at?.file === draft.path ? { ...finding.at, file: file.path } : finding.at,
  }));
};

/** Lines beside the change may have an address with a password. */
const diffOf = ({ path, text, exists }: ConfigurationFile, changed: string): string =>
  redactText(
    fileDiff({
      path: path.slice(dirname(path).length + 1),
      was: exists ? Buffer.from(text) : undefined,
      bytes: Buffer.from(changed),
    }),
  );

const isAbout = (topics: readonly Topic[], settings: SchedulerConfig, name: string): boolean =>
  name === 'configuration' || topics.some(({ parts }) => parts(settings).includes(name));

type Decision = 'write' | 'again' | 'leave';

/** Without a person a configuration of which nothing is wrong is written. */
const decide = async (person: SetupPerson | undefined, bad: number): Promise<Decision> => {
  if (!person) return bad === 0 ? 'write' : 'leave';
  if (bad === 0) return isYes(await person.ask('Write it? [Y/n] '), true) ? 'write' : 'leave';
  for (;;) {
    const answer = (
      await person.ask('Some of it does not work. Answer [a]gain, [w]rite it, or [l]eave it: ')
    ).trim();
    if (answer === 'a') return 'again';
    if (answer === 'w') return 'write';
    if (answer === 'l') return 'leave';
  }
};
