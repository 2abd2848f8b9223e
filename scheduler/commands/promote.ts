import { Args, Flags } from '@oclif/core';
import { shortDigest } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import { FleetCommand } from '#cli/fleet-command';
import { type Promoted, promotedJson, promoteTo } from '../hub/decide/promote-to.ts';
import { assess, parseCandidate } from '../hub/gate/assess.ts';
import { describeVerdict, verdictJson } from '../hub/gate/describe-verdict.ts';
import { linkTo } from '../hub/gate/link.ts';
import { type Configuration, readConfiguration } from '../settings/configuration.ts';
import { configurationFlags } from '../settings/configuration-flags.ts';
import { decisionFlags, gateFlags, openGate, personOf } from './open-gate.ts';

export default class Promote extends FleetCommand {
  static override description =
    `Promotes a candidate to the next environment of the chain, if its gate is open.

The promotion is signed and appended to the audit log; the next build of the environment releases it. --explain shows each
condition of the gate and decides nothing.`;
  static override examples = [
    '<%= config.bin %> <%= command.id %> qa --explain',
    '<%= config.bin %> <%= command.id %> prod --reason "load test of 23 November passed" --build',
    '<%= config.bin %> <%= command.id %> prod --candidate sha256:... --person ann',
  ];
  static override args = {
    environment: Args.string({ required: true, description: 'Environment to promote to' }),
  };
  static override flags = {
    ...gateFlags,
    ...decisionFlags,
    explain: Flags.boolean({ description: 'Only show the conditions of the gate' }),
    build: Flags.boolean({ description: 'Build the environment afterwards', exclusive: ['explain', 'json'] }),
    images: configurationFlags.images,
    'pull-images': Flags.boolean({
      description: 'With --build: pull images that are in no layout from their registries',
      dependsOn: ['build'],
    }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(Promote);
    const configuration = await readConfiguration(flags, process.cwd());
    const now = this.readNow(flags.now);
    const { signal } = this;
    const person = personOf(flags);
    await using gate = await openGate(configuration, signal);
    const candidate = parseCandidate(flags.candidate);
    const { environment } = args;
    if (flags.explain) {
      const question = { now, signal, candidate, asks: person };
      const told = await assess(gate.hub, linkTo(gate.promotion, environment), question);
      for (const line of describeVerdict(told.verdict, told.candidate.candidate)) this.log(line);
      return verdictJson(told.verdict, told.candidate.candidate);
    }
    const wish = { environment, candidate, person, reason: flags.reason ?? null, now, signal };
    const promoted = await promoteTo(gate, wish, (assessment) => {
      const { verdict } = assessment;
      if (verdict.state === 'ready' || verdict.state === 'promoted') return;
      this.#closed = verdictJson(verdict, assessment.candidate.candidate);
      for (const line of describeVerdict(verdict, assessment.candidate.candidate)) this.say(line);
    });
    this.log(describe(promoted));
    const made = promotedJson(promoted);
    if (flags.build) return { ...made, build: await this.build(configuration, environment) };
    this.say(
      `The next build of ${environment} releases it: fleet-scheduler build --environment ${environment}`,
    );
    return made;
  }

  /** The judgement of a closed gate, for --json. */
  #closed: object | undefined;

  protected override toErrorJson(error: unknown): unknown {
    const told = super.toErrorJson(error) as object;
    return isFleetError(error, 'GATE_CLOSED') ? { ...told, ...this.#closed } : told;
  }

  /** Runs the verb build with the same settings; its exit code is this command's. */
  private async build({ layout, keys, platform }: Configuration, to: string): Promise<unknown> {
    const { flags } = await this.parse(Promote);
    const { config, cache, map, now, images } = flags;
    const given = { config, cache, layout, keys, platform, now, images, environment: to };
    const argv = Object.entries(given).flatMap(([name, value]) =>
      value === undefined ? [] : [`--${name}`, value],
    );
    const { default: Build } = await import('./build.ts');
    const pull = flags['pull-images'] ? ['--pull-images'] : [];
    return Build.run([...argv, ...pull, ...(map ?? []).flatMap((one) => ['--map', one])], this.config);
  }
}

const describe = ({ outcome, from, to, number, candidate }: Promoted): string => {
  const what = `candidate ${shortDigest(candidate.candidate)}`;
  return outcome === 'known'
    ? `${to}: ${what} was promoted before, as number ${number}`
    : `${to}: ${what} is promoted from ${from}, number ${number}`;
};
