import { Args, Flags } from '@oclif/core';
import { shortDigest } from '#bundles/digest';
import { FleetCommand } from '#cli/fleet-command';
import { assess, parseCandidate } from '../hub/gate/assess.ts';
import { describeVerdict, verdictJson } from '../hub/gate/describe-verdict.ts';
import { linkTo } from '../hub/gate/link.ts';
import { promote } from '../hub/gate/promote.ts';
import { openReleases } from '../release/publish/open-releases.ts';
import { type Configuration, readConfiguration } from '../settings/configuration.ts';
import { decisionFlags, gateFlags, LOCK_WAIT_MS, openGate, personOf } from './open-gate.ts';

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
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(Promote);
    const configuration = await readConfiguration(flags, process.cwd());
    const now = this.readNow(flags.now);
    const { signal } = this;
    const person = personOf(flags);
    await using gate = await openGate(configuration, signal);
    const link = linkTo(gate.promotion, args.environment);
    const question = { now, signal, candidate: parseCandidate(flags.candidate), asks: person };
    if (flags.explain) {
      const { verdict, candidate } = await assess(gate.hub, link, question);
      for (const line of describeVerdict(verdict, candidate.candidate)) this.log(line);
      return verdictJson(verdict, candidate.candidate);
    }
    const made = await this.decide(gate.hub, link, { ...question, reason: flags.reason ?? null, person });
    if (flags.build) return { ...made, build: await this.build(configuration, link.to) };
    this.say(`The next build of ${link.to} releases it: fleet-scheduler build --environment ${link.to}`);
    return made;
  }

  private async decide(
    hub: Parameters<typeof assess>[0],
    link: Parameters<typeof assess>[1],
    { reason, person, ...question }: Parameters<typeof assess>[2] & { reason: string | null; person: string },
  ): Promise<object> {
    using releases = await openReleases(hub.layout, {
      command: 'promote',
      now: question.now,
      waitMs: LOCK_WAIT_MS,
    });
    const assessment = await assess(hub, link, question);
    const { verdict, candidate } = assessment;
    if (verdict.state !== 'ready' && verdict.state !== 'promoted')
      for (const line of describeVerdict(verdict, candidate.candidate)) this.say(line);
    const wish = { mode: 'manual', person, reason, now: question.now } as const;
    const { outcome, number } = await promote(releases, hub.keys, assessment, wish);
    const what = `candidate ${shortDigest(candidate.candidate)}`;
    this.log(
      outcome === 'known'
        ? `${link.to}: ${what} was promoted before, as number ${number}`
        : `${link.to}: ${what} is promoted from ${link.from}, number ${number}`,
    );
    return { outcome, number, ...verdictJson(verdict, candidate.candidate) };
  }

  /** Runs the verb build with the same settings; its exit code is this command's. */
  private async build({ layout, keys, platform }: Configuration, to: string): Promise<unknown> {
    const { config, cache, map, now } = (await this.parse(Promote)).flags;
    const given = { config, cache, layout, keys, platform, now, environment: to };
    const argv = Object.entries(given).flatMap(([name, value]) =>
      value === undefined ? [] : [`--${name}`, value],
    );
    const { default: Build } = await import('./build.ts');
    return Build.run([...argv, ...(map ?? []).flatMap((one) => ['--map', one])], this.config);
  }
}
