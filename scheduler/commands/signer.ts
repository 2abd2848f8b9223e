import { once } from 'node:events';
import { Flags } from '@oclif/core';
import { FleetCommand } from '#cli/fleet-command';
import { repeatable } from '#cli/flags';
import { openLog } from '#cli/open-log';
import { NOTIFY_FAILED, notifyReady } from '#cli/notify-ready';
import { checkRootExpiry } from '#bundles/trust/root/root';
import { openKeyDirectory } from '../keys/key-directory.ts';
import { parseChain, withEvidence } from '../keys/signer/chain.ts';
import { DEFAULT_LIMITS, parseLimits } from '../keys/signer/limits.ts';
import { listenOnSocket } from '../keys/signer/listen-on-socket.ts';
import { openSignerKeys } from '../keys/signer/open-signer-keys.ts';
import { openSignerState } from '../keys/signer/state/open-state.ts';
import { SIGNER_ROLES, type SignerRole } from '../keys/remote/protocol.ts';
import { createSignerServer } from '../keys/signer/serve-signer.ts';
import { createSigner } from '../keys/signer/signer.ts';
import { parseValuesRule } from '../keys/signer/values-rule.ts';
import { createComposeReleased } from '../plan/compose/compose-released.ts';

export default class Signer extends FleetCommand {
  static override description =
    `Hold keys, and sign for the hub and for builds, within the rules of the fleet.

Run it as a separate user: its clients have access to the socket and to no key. It never signs a version twice, a release with an unsigned bundle, or a document it does not understand, and it limits signatures per hour.

Logs one JSON object for each signature and refusal to standard output. On SIGTERM it finishes running work and exits.`;
  static override examples = [
    '<%= config.bin %> <%= command.id %> --keys /etc/fleet-signer --state /var/lib/fleet-signer --listen /run/fleet-signer/socket --role release --role receipt',
    '<%= config.bin %> <%= command.id %> --keys keys --state signer --listen signer.sock --role release --limit release=100',
    '<%= config.bin %> <%= command.id %> --keys keys --state signer --listen signer.sock --role release --chain qa=dev --chain prod=qa:24h --evidence prod=95%:12h',
  ];
  static override flags = {
    keys: Flags.string({
      required: true,
      description: 'Directory with every root of the fleet and the keys to hold',
      env: 'FLEET_SIGNER_KEYS',
    }),
    state: Flags.string({
      required: true,
      description: 'Directory for the record of signed numbers and digests',
      env: 'FLEET_SIGNER_STATE',
    }),
    listen: Flags.string({
      required: true,
      description: 'Unix socket to listen on, for its user and group',
      env: 'FLEET_SIGNER_LISTEN',
    }),
    role: Flags.string({
      required: true,
      ...repeatable,
      options: [...SIGNER_ROLES],
      description: 'Role of a key to hold; repeatable',
    }),
    limit: Flags.string({
      ...repeatable,
      description: `Maximum number of signatures of a kind per hour [default: ${Object.entries(DEFAULT_LIMITS)
        .map(([sort, number]) => `${sort}=${number}`)
        .join(', ')}]`,
    }),
    chain: Flags.string({
      ...repeatable,
      description:
        'A link of the promotion chain, like prod=qa or, with a soak time, prod=qa:24h: prod gets only candidates promoted from qa',
    }),
    evidence: Flags.string({
      ...repeatable,
      description:
        'Share or number of agents that must comply before a promotion, by signed reports, like prod=95% or prod=3, of the agents of the environment before. With prod=95%:12h their reports are at most that old',
    }),
    'site-values': Flags.string({
      description:
        'What other values of a site need: decided, a change that the audit key signed; or approved=2, also the approvals of so many people by their own keys',
    }),
  };

  async run(): Promise<void> {
    const { flags } = await this.parse(Signer);
    const clock = this.readClock(flags.now);
    const limits = parseLimits(flags.limit ?? []);
    const chain = withEvidence(parseChain(flags.chain ?? []), flags.evidence ?? []);
    const rule = flags['site-values'];
    const values = rule === undefined ? undefined : parseValuesRule(rule);
    const directory = await openKeyDirectory(flags.keys);
    const { root, roots } = directory;
    checkRootExpiry(root, clock());
    const roles = SIGNER_ROLES.filter((role: SignerRole) => flags.role.includes(role));
    using state = await openSignerState(flags.state);
    const log = openLog();
    const { keys, authority } = await openSignerKeys(directory, roles);
    const composeReleased = createComposeReleased();
    const parts = { roots, root, keys, authority, state, limits, chain, values, composeReleased, clock, log };
    const signer = createSigner(parts);
    await using _ = await listenOnSocket(createSignerServer(signer, log), flags.listen);
    if (root.dev) log.warn({ fleet: root.fleet }, 'development root: one person can sign everything');
    const links = chain.map(({ environment, promotedFrom }) => `${environment}=${promotedFrom}`);
    log.info(
      { fleet: root.fleet, root: root.version, roles, chain: links, socket: flags.listen },
      'listening',
    );
    await notifyReady(process.env, this.signal, (reason) => log.warn({ reason }, NOTIFY_FAILED));
    if (!this.signal.aborted) await once(this.signal, 'abort');
    log.info('stopping');
  }

  /** The clock advances from --now. */
  private readClock(now: string | undefined): () => Date {
    if (now === undefined) return () => new Date();
    const offset = this.readNow(now).getTime() - Date.now();
    return () => new Date(Date.now() + offset);
  }
}
