import { FleetError } from '#bundles/errors';
import { nearestName } from '#bundles/nearest-name';
import type { SchedulerConfig } from '#bundles/schemas/types/scheduler-config';
import { redactText } from '../model/repository-url.ts';
import { mistakesIn } from '../settings/configuration.ts';
import { type Question, questionNames, type Topic } from './question.ts';
import { isOfOtherKind, namesOfReceivers } from './receivers.ts';

/** Answers that leave a setting out. */
const NOTHING = '-';

/** How setup asks a person. */
export type Conversation = {
  readonly ask: (question: string) => Promise<string>;
  readonly say: (line: string) => void;
};

export type AnswerOptions = {
  /** Answers of --set by name; they are not asked. */
  readonly given: ReadonlyMap<string, string>;
  /** undefined without a person: what is not given takes its present value or its default. */
  readonly person: Conversation | undefined;
};

/** Answers of --set: <name>=<answer>. @throws FleetError USAGE for a name that no question of these topics has */
export const readGiven = (
  texts: readonly string[],
  topics: readonly Topic[],
): ReadonlyMap<string, string> => {
  const known = topics.flatMap(questionNames);
  return new Map(
    texts.map((text) => {
      const equals = text.indexOf('=');
      const name = equals === -1 ? text : text.slice(0, equals);
      if (equals > 0 && known.includes(name)) return [name, text.slice(equals + 1)] as const;
      const meant = nearestName(name, known);
      throw new FleetError('USAGE', `--set ${JSON.stringify(text)} answers no question of setup`, {
        hint:
          meant === undefined || equals <= 0
            ? `Write <name>=<answer>; the names are ${known.join(', ')}`
            : `Did you mean ${meant}?`,
      });
    }),
  );
};

/**
 * The topic about the receiver that is meant, where there may be several.
 * @throws FleetError USAGE for a name that does not fit
 */
export const chooseReceiver = async (
  topic: Topic,
  settings: SchedulerConfig,
  { given, person }: AnswerOptions,
): Promise<Topic> => {
  const { receiver } = topic;
  if (!receiver) return topic;
  const { question, kind, topicOf } = receiver;
  const faultOfName = (name: string): string | undefined => {
    const webhook = { url: 'https://desk.example', secretFile: 'secret' };
    const [mistake] = mistakesIn(JSON.stringify({ alarms: { receivers: [{ name, webhook }] } }));
    if (mistake) return mistake.message;
    return isOfOtherKind(settings, kind, name) ? `the receiver ${name} is of another kind` : undefined;
  };
  const stated = given.get(question)?.trim();
  if (stated !== undefined) {
    const fault = faultOfName(stated);
    if (fault !== undefined)
      throw new FleetError('USAGE', `--set ${question}: ${fault}`, {
        hint: 'Give another name: --set names a receiver that there is, or a new one',
      });
    return topicOf(stated);
  }
  const [first, ...more] = namesOfReceivers(settings, kind);
  if (first === undefined || !person) return topic;
  for (;;) {
    const asks = `Receiver: ${[first, ...more].join(', ')}, or a new name [${first}]: `;
    const name = (await person.ask(asks)).trim() || first;
    const fault = faultOfName(name);
    if (fault === undefined) return topicOf(name);
    person.say(`${fault}.`);
  }
};

/** The settings with the answers to the questions of a topic. @throws FleetError USAGE for an answer that does not fit, or that is missing */
export const answerQuestions = async (
  topic: Topic,
  settings: SchedulerConfig,
  options: AnswerOptions,
): Promise<SchedulerConfig> => {
  let now = settings;
  for (const question of topic.questions) {
    if (question.when && !question.when(now)) continue;
    const answer = await answerOf(topic, question, { preset: question.preset?.(now, settings), ...options });
    now = question.put(now, answer === NOTHING ? '' : answer);
  }
  return now;
};

const answerOf = async (
  topic: Topic,
  question: Question,
  { given, person, preset }: AnswerOptions & { readonly preset: string | undefined },
): Promise<string> => {
  const { name, asks, example, isOptional = false } = question;
  const stated = given.get(name);
  if (stated !== undefined) {
    const fault = faultOf(topic, question, stated.trim());
    if (fault === undefined) return stated.trim();
    throw new FleetError('USAGE', `--set ${name}: ${fault}`, { hint: `It is written like ${example}` });
  }
  if (!person) {
    if (preset !== undefined || isOptional) return preset ?? NOTHING;
    throw new FleetError('USAGE', `there is no answer for ${name}`, {
      hint: `Give --set ${name}=${example} with your own value, or start it at a terminal`,
    });
  }
  const shown = preset ?? (isOptional ? NOTHING : undefined);
  for (;;) {
    const brackets = shown === undefined ? ` (like ${example})` : ` [${redactText(shown)}]`;
    const typed = (await person.ask(`${asks}${brackets}: `)).trim();
    const answer = typed === '' && shown !== undefined ? shown : typed;
    const fault = faultOf(topic, question, answer);
    if (fault === undefined) return answer;
    person.say(`${fault}. It is written like ${example}`);
  }
};

/** The mistake in an answer, judged among answers that fit; undefined: it fits. */
const faultOf = (topic: Topic, question: Question, answer: string): string | undefined => {
  if (answer === NOTHING && question.isOptional) return undefined;
  if (answer === '' || answer === NOTHING) return 'this has to have an answer';
  try {
    const settings = topic.questions.reduce<SchedulerConfig>((all, one) => {
      if (one === question) return one.put(all, answer);
      return one.when?.(all) === false ? all : one.put(all, one.example);
    }, {});
    const [mistake] = mistakesIn(JSON.stringify(settings));
    return mistake?.message;
  } catch (error) {
    return (error as FleetError).message;
  }
};
