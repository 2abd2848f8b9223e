import { formatCount } from '#bundles/format-count';
import { Args, Flags } from '@oclif/core';
import { openProgress } from '#cli/progress';
import { PROGRESS_FLAG } from '#cli/flags';
import { type ImportResult, importMedium } from '../daemon/import-medium.ts';
import { judgeLook } from '../observe/judge-look.ts';
import { type MediumPlan, planMedium } from '../daemon/plan-medium.ts';
import { AgentCommand, openScratch } from './agent-command.ts';
import { describeAccepted } from './describe-accepted.ts';
import { exitCodeOfLook, showLook } from './show-look.ts';
import { showPlan } from './show-plan.ts';
import { showMissing } from './show-packages.ts';

export default class Import extends AgentCommand {
  static override summary = 'Verify a medium and apply its release for this machine.';
  static override description =
    'Nothing changes unless everything on the medium that is for this machine is signed, complete and newer than the ' +
    'last import. Every import compares all packages with live state afterwards and corrects differences, as the daemon does, also of ' +
    'a medium without news. It may be interrupted at any time: the next command resumes. Each volume of a set may ' +
    'be imported alone, in any order: the agent keeps the contents of each and applies the release after the last one. ' +
    'With --plan the medium is verified in the same way, and what the import would change is shown; nothing is stored, applied, reported or ' +
    'written onto the medium. It exits with 8 when something would change, as "diff" does, and with the code of the import where the medium would be ' +
    'refused. Container images are looked for and not read.';
  static override examples = [
    '<%= config.bin %> import /media/stick',
    '<%= config.bin %> import /media/stick --plan',
    '<%= config.bin %> import ./plant-7.tar --json',
    '<%= config.bin %> import /media/stick-1 /media/stick-2',
    '<%= config.bin %> import /media/stick --prune',
    '<%= config.bin %> import /media/stick --accept-expired --reason "line stands still, office cannot be reached"',
  ];
  static override args = {
    medium: Args.string({
      required: true,
      multiple: true,
      description: 'Directory, tar file or part; several are sticks of one set',
    }),
  };
  static override flags = {
    ...PROGRESS_FLAG,
    plan: Flags.boolean({ description: 'Show what the import would change, and change nothing' }),
    prune: Flags.boolean({ description: 'This release may remove more packages than the prune budget' }),
    'accept-expired': Flags.boolean({
      description:
        'Accept an expired release or site statement, if breakGlass permits it; reported with your name',
      dependsOn: ['reason'],
    }),
    reason: Flags.string({
      description: 'Reason for --accept-expired, for the platform team',
      dependsOn: ['accept-expired'],
    }),
  };

  async run(): Promise<ImportResult | MediumPlan> {
    const { args, flags } = await this.parse(Import);
    using progress = openProgress(flags.progress);
    const importOptions = {
      prune: flags.prune,
      acceptExpired: flags['accept-expired'] ? flags.reason : undefined,
    };
    if (flags.plan) {
      const plan = await this.reading(
        flags,
        (agent) => planMedium({ ...agent, progress }, args.medium, importOptions),
        openScratch,
      );
      this.print(showPlan(plan));
      process.exitCode = plan.next.length > 0 ? 8 : 0;
      return plan;
    }
    const { result, service } = await this.changing(flags, async (agent) => ({
      result: await importMedium({ ...agent, progress }, args.medium, importOptions),
      service: judgeLook(agent, this.readConfig(flags)).service,
    }));
    this.log(`Accepted ${describeAccepted(result)}`);
    if (result.relaxed.length > 0) this.log(describeBreakGlass(result));
    for (const line of aboutImages(result)) this.log(line);
    this.print(result.missing ? showMissing(result.missing) : showLook(result));
    const { contradictingReceipts } = result;
    if (contradictingReceipts > 0) this.log(CONTRADICTING);
    if (service.todo !== null) this.log(notRunning(service.todo));
    process.exitCode = exitCodeOfLook(result) || (contradictingReceipts > 0 ? 8 : 0);
    return result;
  }
}

const describeBreakGlass = ({ relaxed }: ImportResult): string =>
  `Accepted although expired (${relaxed.join(', ')}): your name and reason go into the next report.`;

const aboutImages = ({ images: { brought, left } }: ImportResult): readonly string[] => [
  ...(brought > 0 ? [`Brought ${formatCount(brought, 'container image')}.`] : []),
  ...(left > 0 ? [`${formatCount(left, 'container image')} ${NOT_IN_STORE}`] : []),
];

const notRunning = (todo: string): string =>
  `The service is not running, so nothing compares this machine with its release from now on: "${todo}" starts it.`;

const NOT_IN_STORE =
  'stayed on the medium, because no image provider is configured: the cluster has to pull them. To import them, set ' +
  'containerd or imageRegistry in the configuration of the agent and import again.';

const CONTRADICTING =
  'RECEIPT_INVALID: the office acknowledges other events than this outbox has, so they were kept. Tell the platform ' +
  'team: this machine was restored from a copy, or another one has its key.';
