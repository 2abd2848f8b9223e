import { Args, Flags } from '@oclif/core';
import { FleetError, formatPlace } from '#bundles/errors';
import { processTerminal } from '#bundles/trust/keys/terminal';
import { ask, canAsk } from '#cli/ask';
import { FleetCommand } from '#cli/fleet-command';
import { repeatable } from '#cli/flags';
import type { Finding } from '../hub/examine/finding.ts';
import { readGiven } from '../setup/answer-questions.ts';
import { readForSetup } from '../setup/configuration-file.ts';
import { questionNames, type Topic, TOPIC_NAMES, type TopicName } from '../setup/question.ts';
import { runSetup, type SetupPerson, type SetupResult } from '../setup/run-setup.ts';
import { TOPICS } from '../setup/topics.ts';
import { CONFIGURATION_FILE } from '../settings/configuration.ts';

export default class Setup extends FleetCommand {
  static override description =
    `Set up the configuration of the hub by questions: its files, the sign-in of people, alarms by mail and to a webhook, the forge.

Edits fleet-scheduler.yaml and keeps its comments. Secrets go into files of their own, with mode 0600. What was answered is tried as serve --check does before the file is replaced. Run it as the user of the hub, and restart the hub.`;
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> sign-in --config /etc/fleet-scheduler/fleet-scheduler.yaml',
    '<%= config.bin %> <%= command.id %> mail --set mail.server=smtps://mail.example:465 --set mail.from=fleet@mail.example --set mail.to=desk@mail.example --set mail.userName=-',
  ];
  static override strict = false;
  static override args = {
    topic: Args.string({ description: `What to set up: ${TOPIC_NAMES.join(', ')} [default: asked]` }),
  };
  static override flags = {
    config: Flags.string({ description: `Configuration file [default: ${CONFIGURATION_FILE}]` }),
    set: Flags.string({
      ...repeatable,
      description: 'Answer to a question, <name>=<answer>; - leaves it out',
    }),
    yes: Flags.boolean({ description: 'Ask nothing: keep present values, take defaults, and write it' }),
    'skip-check': Flags.boolean({ description: 'Write it without trying it' }),
  };

  async run(): Promise<(SetupResult & { readonly file: string }) | undefined> {
    const { flags, argv } = await this.parse(Setup);
    const all = TOPIC_NAMES.map((name) => TOPICS[name]);
    const named = (argv as readonly string[]).map(topicOf);
    const given = readGiven(flags.set ?? [], named.length > 0 ? named : all);
    const person = flags.yes || this.jsonEnabled() || !canAsk() ? undefined : this.#person();
    const topics = named.length > 0 ? named : topicsOf(all, given);
    if (topics.length === 0 && !person)
      throw new FleetError('USAGE', 'there is no terminal to ask what to set up', {
        hint: `Name it: fleet-scheduler setup ${TOPIC_NAMES.join('|')}, with --set for the answers`,
      });
    const cwd = process.cwd();
    const file = await readForSetup(flags.config ?? CONFIGURATION_FILE, cwd);
    const now = this.readNow(flags.now);
    const result = await runSetup({
      file,
      given,
      topics,
      all,
      person,
      examine: flags['skip-check'] ? undefined : (config) => this.#examine(config, now),
      show: (diff, findings) => this.#show(diff, findings),
    });
    this.#tell(result, file.path);
    return { file: file.path, ...result };
  }

  #person(): SetupPerson {
    const { signal } = this;
    return {
      ask: (question) => ask(question, { flag: '--set', signal }),
      askHidden: async (question) => (await processTerminal()?.askHidden(question)) ?? '',
      say: (line) => this.say(line),
    };
  }

  async #examine(config: string, now: Date): Promise<readonly Finding[]> {
    const { examineHub } = await import('../hub/examine/examine-hub.ts');
    return examineHub({ config }, { cwd: process.cwd(), env: process.env, now, signal: this.signal });
  }

  #show(diff: string, findings: readonly Finding[]): void {
    if (this.jsonEnabled()) return;
    this.logText(diff === '' ? 'Nothing changes in the file.' : diff);
    this.print({
      rows: findings.map(({ name, verdict, message, at }) => [
        name,
        verdict,
        at === undefined ? message : `${formatPlace(at)}: ${message}`,
      ]),
    });
  }

  #tell({ isWritten, secrets, next }: SetupResult, file: string): void {
    if (!isWritten) {
      process.exitCode = 8;
      this.say(`${file} is as it was. --skip-check writes it without trying it.`);
      return;
    }
    for (const secret of secrets) this.print(`wrote ${secret}`);
    this.print(`wrote ${file}`);
    for (const line of next) this.say(`Next: ${line}`);
    this.say('Next: restart the hub, such as "systemctl restart fleet-scheduler".');
  }
}

const topicOf = (name: string): Topic => {
  const found = TOPIC_NAMES.find((one): one is TopicName => one === name);
  if (found !== undefined) return TOPICS[found];
  throw new FleetError('USAGE', `there is nothing to set up that is called ${JSON.stringify(name)}`, {
    hint: `Name one of ${TOPIC_NAMES.join(', ')}`,
  });
};

/** Those that the given answers are about. */
const topicsOf = (all: readonly Topic[], given: ReadonlyMap<string, string>): readonly Topic[] =>
  all.filter((topic) => questionNames(topic).some((name) => given.has(name)));
