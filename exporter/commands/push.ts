import { Flags } from '@oclif/core';
import { defined } from '#bundles/defined';
import { FleetCommand } from '#cli/fleet-command';
import { formatBytes } from '#cli/format-bytes';
import { openProgress } from '#cli/progress';
import { PROGRESS_FLAG } from '#cli/flags';
import { formatCount } from '#bundles/format-count';
import { addTransfers, type TransferCounts } from '#bundles/transport/publish/send-batch';
import { type Pushed, type PushedPointer, pushMedium } from '../push/push-medium.ts';
import { trustNotes } from '../verify/trust-notes.ts';
import { setTransferFlags } from '../source/v8-flags.ts';
import { IDENTITY_FLAG, MEDIUM_ARG, openGiven } from './open-given.ts';
import { parseRootDigest, ROOT_FLAG } from './root-digest.ts';
import { openSiteRegistry, REGISTRY_FLAGS, SELECTION_FLAGS, selectionOf } from './site-registry-flags.ts';
import { stoppable } from './stoppable.ts';

type Result = Pushed & {
  readonly medium: string;
  readonly registry: string;
  readonly dryRun: boolean;
  /** Why a newer release was overwritten. */
  readonly reason?: string;
  readonly notes: readonly string[];
};

export default class Push extends FleetCommand {
  static override summary = 'Push a medium to a registry at the site, without an intermediate copy';
  static override description =
    `Verifies the medium before it sends the first byte, checks each digest on the way, and moves the tags that agents and Flux follow last, so that a reader that finds a release finds all of it. After an interruption run it again: it continues, and sends nothing twice.

Images go to <prefix>/<host>/<repository> with the tag i-<digest>, where a mirror configuration of containerd finds them under their own names; channels to <prefix>/<environment>/<cluster type>.

A release older than the one in the registry is refused (ROLLBACK) before anything is sent.`;
  static override examples = [
    '<%= config.bin %> push /media/stick --to oci://edge.example:5000/fleet --root-sha256 3f0c...',
    '<%= config.bin %> push plant-7.tar --to oci://edge.example:5000/fleet --channel prod/kiosk --dry-run',
  ];
  static override strict = false;
  static override args = MEDIUM_ARG;
  static override flags = {
    ...REGISTRY_FLAGS,
    ...ROOT_FLAG,
    ...IDENTITY_FLAG,
    ...PROGRESS_FLAG,
    ...SELECTION_FLAGS,
    to: Flags.string({
      required: true,
      description: 'The registry, oci://host[:port]/prefix',
      env: 'FLEET_EXPORT_EDGE',
    }),
    'go-back': Flags.string({
      description:
        'Replace a newer release of the registry by an older one, for this reason; agents still refuse the older one',
    }),
    repair: Flags.boolean({ description: 'Look for every blob, and send again what the registry lost' }),
    'dry-run': Flags.boolean({
      description: 'Verify everything and list what would be sent, without sending',
    }),
  };

  async run(): Promise<Result> {
    const { argv, flags } = await this.parse(Push);
    const given = flags['root-sha256'];
    const pinned = given === undefined ? undefined : parseRootDigest(given);
    const reason = flags['go-back'];
    const selection = selectionOf(flags);
    const now = this.readNow(flags.now);
    return stoppable(this.signal, 'Run it again: it continues where it stopped', async () => {
      using progress = openProgress(flags.progress);
      await using registry = openSiteRegistry(flags.to, flags, process.env, this.signal, progress);
      await using medium = await openGiven(argv as string[], flags, this.signal);
      setTransferFlags();
      const pushed = await pushMedium(
        medium,
        registry,
        {
          selection,
          pinned,
          goBack: reason !== undefined,
          repair: flags.repair,
          dryRun: flags['dry-run'],
          now,
          signal: this.signal,
        },
        {
          onPrepared: (total) => progress.begin({ name: 'pushing', total }),
          onBytes: progress.advance,
        },
      );
      progress.end();
      const notes = trustNotes(pushed.root, pinned);
      for (const note of notes) this.say(`Note: ${note}.`);
      this.print({ rows: pushed.pointers.map((pointer) => describePushed(pointer, reason)) });
      this.print(conclude(pushed, flags.to, flags['dry-run']));
      const wentBack = pushed.pointers.some((pointer) => pointer.wentBack);
      return {
        medium: medium.path,
        registry: flags.to,
        dryRun: flags['dry-run'],
        ...pushed,
        ...defined({ reason: wentBack && reason !== undefined ? reason : undefined }),
        notes,
      };
    });
  }
}

/** 'prod/kiosk:release           release 3  sent' */
const describePushed = (
  { repository, tag, name, outcome, wentBack }: PushedPointer,
  reason: string | undefined,
): readonly string[] => {
  const row = (text: string): readonly string[] => [`${repository}:${tag}`, name ?? '', text];
  const back = wentBack ? ` over a newer one: ${reason}` : '';
  switch (outcome) {
    case 'unchanged':
      return row('there already');
    case 'sent':
      return row(`sent${back}`);
    case 'superseded':
      return row('superseded: a newer one was pushed meanwhile');
    case 'planned':
      return row(`would be sent${back}`);
  }
};

const conclude = ({ pointers, images }: Pushed, where: string, dryRun: boolean): string => {
  if (pointers.every(({ outcome }) => outcome === 'unchanged'))
    return `${where}: everything is there already`;
  const transfers = pointers.map((it) => it.freight).reduce(addTransfers, images.freight);
  const { uploaded, bytes, mounted, there }: TransferCounts = transfers;
  const parts = [
    `${formatCount(uploaded, 'blob')} (${formatBytes(bytes)}) ${dryRun ? 'to send' : 'sent'}`,
    ...(mounted > 0 ? [`${mounted} mounted`] : []),
    ...(there > 0 ? [`${there} there already`] : []),
    formatCount(images.count, 'image'),
  ];
  return `${where}: ${parts.join(', ')}`;
};
