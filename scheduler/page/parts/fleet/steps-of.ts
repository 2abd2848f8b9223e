import type { FirstSteps } from '#bundles/schemas/types/hub-decisions';

export type FirstStep = {
  readonly title: string;
  readonly done: boolean;
  /** The view that shows what it did. */
  readonly to: string;
  /** The fact by which the hub knows that it is done. */
  readonly proof: string;
  readonly commands: readonly string[];
};

/** `done` is null for a step that this fleet does not need. */
type Step = Omit<FirstStep, 'done'> & { readonly done: boolean | null };

/** A hub works without these: they end with the others. */
const setUp = ({ signIn, alarms }: NonNullable<FirstSteps['steps']>): FirstStep => ({
  title: 'Let people sign in, and send alarms',
  done: signIn && alarms,
  to: '/alarms',
  proof: 'people sign in at a provider, and alarms have a receiver',
  commands: [
    '# at the hub, as its user: asks, tries the answers, and writes the configuration',
    `fleet-scheduler setup ${[...(signIn ? [] : ['sign-in']), ...(alarms ? [] : ['mail'])].join(' ')}`,
  ],
});

/**
 * The first steps with a new hub, with commands for this hub. Empty once all are done, and for callers who may not read everything.
 * @param origin of the hub, as the browser knows it
 */
export const stepsOf = (
  { fleet, rootSha256, steps, channel, site, promotion }: FirstSteps,
  origin: string,
): readonly FirstStep[] => {
  if (steps === null) return [];
  const { enrolled, built, filled, promoted } = steps;
  const place = site ?? 'plant-1';
  const follows = channel ?? 'ENVIRONMENT/TYPE';
  const [environment = ''] = follows.split('/');
  const names = `--site ${place} --name host-1 --channel ${follows} --root-sha256 ${rootSha256}`;
  const all: readonly Step[] = [
    {
      title: 'Build a release',
      done: built,
      to: '/workloads',
      proof: 'the layout has a release',
      commands: [
        '# without a platform yet: a folder that works, to edit',
        `fleet-scheduler init platform --fleet ${fleet}`,
        'fleet-scheduler build --platform platform',
      ],
    },
    {
      title: 'Enrol an agent',
      done: enrolled,
      to: '/sites',
      proof: 'an agent is enrolled',
      commands: [
        '# over the network: a token here, then on the machine',
        `fleet-scheduler tokens create --site ${place} --agent host-1 --channel ${follows} --expires 2h > token`,
        `fleet-agent enroll --hub ${origin} --token-file token ${names}`,
        '# without a network: on the machine, then here',
        `fleet-agent enroll /media/stick --fleet ${fleet} ${names}`,
        'fleet-scheduler sites enroll /media/stick',
      ],
    },
    {
      title: 'Fill a stick',
      done: filled,
      to: '/media',
      proof: 'a medium was recorded, or came back with reports',
      commands: [
        `fleet-scheduler tokens create --person office --allow record:${environment} > record-token`,
        `fleet-export create --from releases --site ${place} --to /media/stick --hub ${origin} --hub-token-file record-token`,
      ],
    },
    {
      title: 'Promote to the next environment',
      done: promoted,
      to: '/pipeline',
      proof: 'an environment that is promoted to has a release',
      commands: [
        `fleet-scheduler promote ${promotion?.to ?? 'ENVIRONMENT'} --explain`,
        `fleet-scheduler promote ${promotion?.to ?? 'ENVIRONMENT'} --person NAME --reason "works at the first site" --build`,
      ],
    },
  ];
  const needed = all.flatMap(({ done, ...step }): readonly FirstStep[] =>
    done === null ? [] : [{ ...step, done }],
  );
  return needed.every(({ done }) => done) ? [] : [...needed, setUp(steps)];
};
