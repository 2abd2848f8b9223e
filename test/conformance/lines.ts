/**
 * The checklist of an applier, line by line: the tests that prove each, or why there is none. `npm run conformance` runs them against real API
 * servers; docs/applier.md shows the result.
 */
export type Line = {
  readonly id: string;
  readonly what: string;
  /** File below test/ and title of a test, or of a group of tests. */
  readonly tests?: readonly (readonly [file: string, title: string])[];
  /** Why the line, or a part of it, does not hold. */
  readonly miss?: string;
};

const TARGET = 'integration/kubernetes/kubernetes-target.test.ts';
const COMPARE = 'integration/kubernetes/kubernetes-compare.test.ts';
const RECONCILE = 'agent/apply/reconcile.component.test.ts';

export const LINES: readonly Line[] = [
  {
    id: 'P1',
    what: 'Two documents with one identity are refused with both places; duplicate keys too; lists are expanded, kustomizations skipped',
    tests: [
      [
        'agent/apply/kubernetes/desired/read-wanted.test.ts',
        'are refused when two have the same identity, with both places named',
      ],
      [
        'agent/apply/kubernetes/desired/read-wanted.test.ts',
        'are read from every YAML file and document with lists expanded, except kustomization.yaml',
      ],
    ],
  },
  {
    id: 'P2',
    what: 'A package without objects over one with objects waits for a confirmation',
    tests: [[RECONCILE, 'keeps the files of a package whose update has none left, until a confirmation']],
  },
  {
    id: 'P3',
    what: 'All objects pass a dry run before the first write; the error lists every refusal',
    tests: [[TARGET, 'writes nothing when an object would be refused, and lists all of these (P3)']],
  },
  {
    id: 'P4',
    what: 'Objects of a definition in the same package wait until it is established',
    tests: [[TARGET, 'waits for a definition before its custom resources (P4)']],
  },
  {
    id: 'P5',
    what: 'Missing rights are listed together, before the first write',
    tests: [[TARGET, 'names verb, resource and account when a right is missing (P5)']],
  },
  {
    id: 'P6',
    what: 'A definition that changes scope or drops a stored version is refused',
    tests: [
      [TARGET, 'keeps a definition and its objects when only the definition may be recreated'],
      [
        TARGET,
        'rolls back the other objects of a package whose definition has stored objects of a new version',
      ],
    ],
  },
  {
    id: 'P7',
    what: 'A namespace that is nowhere is named with its object, other than one that is not given',
    tests: [
      [TARGET, 'names a missing namespace with its object, and a kind that the cluster lacks (P7)'],
      [
        'agent/apply/kubernetes/desired/read-wanted.test.ts',
        'are refused with a duplicate key, without kind, name or namespace, and of an unknown kind',
      ],
    ],
  },
  {
    id: 'P8',
    what: 'A removed version of a kind is named with the one that replaces it',
    tests: [[TARGET, 'names the version that replaces one which the cluster no longer has (P8)']],
  },
  {
    id: 'S1',
    what: 'One field manager; fields that are taken over are named with their manager',
    tests: [[TARGET, 'takes fields from other managers, with the reason naming them (S1)']],
  },
  {
    id: 'S2',
    what: 'The same package twice writes nothing',
    tests: [
      [TARGET, 'applies a package in order until it is healthy, and a second time without any write'],
      [TARGET, 'finds no change with a lost inventory, by dry runs only (S2, S3)'],
    ],
  },
  {
    id: 'S3',
    what: 'No false drift from defaults, quantities, CA bundles, allocated fields and forms of one value',
    tests: [
      [TARGET, 'finds no change with a lost inventory, by dry runs only (S2, S3)'],
      [COMPARE, 'reach the desired state and are restored by their removal'],
    ],
  },
  {
    id: 'S4',
    what: 'Fields that people add stay and are reported, or are removed with `strict`',
    tests: [[TARGET, 'reports fields that people added, and removes them with fields: strict (S4)']],
  },
  {
    id: 'S5',
    what: 'Without force a conflict names manager and field, and other objects are applied',
    tests: [
      [
        COMPARE,
        'without force a conflict names manager and field, and the other objects are applied (checklist S5)',
      ],
    ],
  },
  {
    id: 'S6',
    what: 'Ignored fields keep the values of others without a write, and do not jump in a release',
    tests: [
      [COMPARE, 'ignored fields (checklist S6)'],
      [TARGET, 'leaves replicas to an autoscaler, also in releases, and takes them back without one'],
      [COMPARE, 'leave fields of all Deployments to others, from the release with the rule on and no longer'],
    ],
  },
  {
    id: 'S7',
    what: 'A field or list item that leaves the manifest disappears',
    tests: [[TARGET, 'removes fields and list items that leave the manifest (S7)']],
  },
  {
    id: 'S8',
    what: 'Fields of kubectl and of other tools are taken over with an object, so that none is left or comes back',
    tests: [
      [
        TARGET,
        "takes over fields of kubectl's client-side apply, without keeping those that only kubectl had (S8)",
      ],
      [TARGET, 'takes over an object without managers, without drift afterwards (S8)'],
      [COMPARE, 'an object of another tool'],
      [COMPARE, 'fields of other tools in an object that is taken over'],
    ],
  },
  {
    id: 'S9',
    what: 'Field managers of an older version of a definition do not prevent an apply',
    tests: [
      [COMPARE, 'worlds of generated definitions'],
      [
        TARGET,
        'applies an object whose field managers are recorded in a version that its definition lost (S9)',
      ],
    ],
  },
  {
    id: 'S10',
    what: 'Rules of single objects: apply, force, prune, wait, drift, conflicts',
    tests: [
      [TARGET, 'follows the annotations of an object: ifNotPresent, ignore, prune and force (S10, R1)'],
      [COMPARE, 'the drift rule of an object (checklist D2)'],
    ],
  },
  {
    id: 'S11',
    what: 'Values of Secrets are in no message, event, report and file',
    tests: [
      [TARGET, "has no secret's value in messages, steps, events, reports and files of its state (S11)"],
    ],
  },
  {
    id: 'S12',
    what: 'An object of 1 MB is applied; one over the limit is named',
    tests: [[TARGET, 'applies a ConfigMap of 1 MB, and refuses one that is too large for the cluster (S12)']],
  },
  {
    id: 'S13',
    what: 'Retry-After is honoured; a restarting API server creates nothing twice',
    tests: [
      [
        'integration/kubernetes/kubernetes-target-sender.test.ts',
        'is delayed as long as the server asks, and sent again',
      ],
      [TARGET, 'continues when the API server restarts, and creates nothing twice (S13)'],
    ],
  },
  {
    id: 'O1',
    what: 'The order of kinds does not depend on the order of files',
    tests: [
      [
        'agent/apply/kubernetes/desired/kind-order.test.ts',
        'objects are applied in the same order for any order of files',
      ],
    ],
  },
  {
    id: 'O2',
    what: 'A wave is applied when the one before is healthy, webhooks of admission included; removals go backwards',
    tests: [
      [TARGET, 'waits until the Service of a webhook has a ready endpoint, and names it after the timeout'],
      [TARGET, 'applies a wave when the one before is healthy, and none behind one that fails'],
      [TARGET, 'continues in the wait of a wave after a kill'],
    ],
  },
  {
    id: 'O3',
    what: 'Dependencies between objects; a circle shows its edges',
    tests: [
      [TARGET, 'refuses a circle before anything is written'],
      [
        'agent/apply/kubernetes/desired/ranks-of.test.ts',
        'follow the phase, then the wave as a number, then the dependencies, without gaps',
      ],
    ],
    miss: 'When a dependency fails, its dependents are not applied and the package fails; they have no state of their own',
  },
  {
    id: 'O4',
    what: 'Hooks before and after run once with each version, hooks of a failure once with each try; delete policies',
    tests: [
      [TARGET, 'runs hooks before and after, once with each version of the package'],
      [
        TARGET,
        'deletes a complete hook whose author wants that, and runs it again with the next version only',
      ],
      [TARGET, 'run before the way back, once for each try, and not without a failure'],
      [TARGET, 'run once, although the agent is killed while they run'],
      [TARGET, 'and failed are deleted when the failure is recorded, if their author wants that'],
    ],
  },
  {
    id: 'O5',
    what: 'Removals go in reverse order, namespaces and definitions last',
    tests: [[TARGET, 'removes objects of a package in reverse order, its namespace last (O5)']],
  },
  {
    id: 'W',
    what: 'Verdicts by kind',
    tests: [
      ...['a Deployment', 'a StatefulSet', 'a DaemonSet', 'a Pod', 'a Job', 'other kinds of the cluster'].map(
        (kind) => ['agent/apply/kubernetes/health/judge.test.ts', kind] as const,
      ),
      [TARGET, 'waits for a Deployment to be available, and counts objects without a status as healthy'],
      [TARGET, 'fails a Job when it failed, and passes with one that its TTL removed'],
      [COMPARE, 'judge health by an expression, and name it with the reason when the time is over'],
    ],
  },
  {
    id: 'W1',
    what: 'The wait ends when all objects are healthy or one failed for good',
    tests: [[TARGET, 'fails by an unschedulable pod, by its image and by its crash']],
  },
  {
    id: 'W2',
    what: 'A timeout lists each unfinished object, its status and last event',
    tests: [[TARGET, 'reports after its timeout what is unfinished, with the last event']],
  },
  {
    id: 'W3',
    what: 'An object without conditions is not healthy within the settle window',
    tests: [
      [TARGET, 'waits for a definition, then for its resources by their conditions'],
      ['agent/apply/kubernetes/health/settle-kubernetes.test.ts', 'settleKubernetes'],
    ],
  },
  {
    id: 'I1',
    what: 'Objects are recorded before the first write and forgotten after their deletion, for a kill at every step',
    tests: [['integration/kubernetes/kubernetes-target.test.ts', 'agent that is killed']],
  },
  {
    id: 'I2',
    what: 'Removals come after all objects were applied and are healthy',
    tests: [
      [
        TARGET,
        'keep the ConfigMap of the old pods until the new ones are ready, and forever if they never are',
      ],
    ],
  },
  {
    id: 'I3',
    what: 'Only objects with the owner mark are deleted, by their uid',
    tests: [
      [
        TARGET,
        'deletes only objects with its annotation, and no namespace with foreign objects (I3, I5, I6)',
      ],
      [COMPARE, 'ownership of objects'],
    ],
  },
  {
    id: 'I4',
    what: 'An object moves between packages without being deleted',
    tests: [
      [TARGET, 'hands objects over from a removed package to the one that replaces it (I4)'],
      [TARGET, 'hands an object over between two packages without recreating it (I4)'],
    ],
  },
  {
    id: 'I5',
    what: 'A namespace with objects of others is not deleted',
    tests: [
      [
        TARGET,
        'deletes only objects with its annotation, and no namespace with foreign objects (I3, I5, I6)',
      ],
    ],
  },
  {
    id: 'I6',
    what: 'Kept objects lose the owner mark, and no field of ours stays in them',
    tests: [
      [
        TARGET,
        'deletes only objects with its annotation, and no namespace with foreign objects (I3, I5, I6)',
      ],
      [COMPARE, 'has no field of ours after it was given up with prune: disabled'],
    ],
  },
  {
    id: 'I7',
    what: 'A release that removes more than the budget waits for a confirmation',
    tests: [
      [
        RECONCILE,
        '(I7) keeps the files of an update that removes more than the budget, until a confirmation',
      ],
      [TARGET, 'of an update that removes most of its objects or very many wait for "fleet-agent prune"'],
    ],
  },
  {
    id: 'I8',
    what: 'Deletions come from a verified newer bundle only',
    tests: [[RECONCILE, 'is removed after everything else was applied, even if another package failed']],
  },
  {
    id: 'A1',
    what: 'Takeovers by rule: never, ifUnowned, ifEqual, always',
    tests: [
      [COMPARE, 'an object of another tool'],
      [
        TARGET,
        'restores what it took over: content, labels and managers, after a rollback, an update and the removal (A1)',
      ],
      [COMPARE, 'let objects of a kind be taken over or not, before the rule of the package'],
    ],
  },
  {
    id: 'A2',
    what: 'Of two packages with one object the first keeps it',
    tests: [
      [
        TARGET,
        'leaves an object to the first of two packages, and never takes that of another fleet (A1, A2)',
      ],
    ],
  },
  {
    id: 'A3',
    what: 'A report before a takeover writes nothing',
    tests: [[COMPARE, 'is listed before a takeover, with its tool and all that would change']],
  },
  {
    id: 'R1',
    what: 'An object is made again only for a field that cannot change, and only with force',
    tests: [
      [
        TARGET,
        'recreates a Job whose template changed if it may, although the server quotes much of it (R1)',
      ],
      [
        TARGET,
        'lead to a recreation when a rule of the definition forbids the change, and only with force: enabled',
      ],
    ],
  },
  {
    id: 'R2',
    what: 'The plan shows the replacement',
    tests: [
      [
        COMPARE,
        'let an object be recreated when its definition changes too, and hint at it when that is not allowed',
      ],
    ],
    miss: '`fleet-agent diff --release next` has the reason "replaced"; the scheduler\'s own `diff` cannot know it',
  },
  {
    id: 'R3',
    what: 'Data needs a second key, and claims that stay are named',
    tests: [
      [
        TARGET,
        'recreates a StatefulSet with other claims without touching its pods, and names the claims that stay (R3)',
      ],
      [TARGET, 'keep the size of a claim that a person grew, and let the other objects be applied'],
    ],
  },
  {
    id: 'D1',
    what: 'Changed, added and removed fields, deleted objects; a changed status is no drift',
    tests: [
      [TARGET, 'finds changed, removed and deleted fields, and ignores status and foreign fields (D1)'],
      [TARGET, 'corrects a list whose keys were edited, and the other objects of the package (D1)'],
    ],
  },
  {
    id: 'D2',
    what: 'Rules of drift for each object',
    tests: [
      [COMPARE, 'the drift rule of an object (checklist D2)'],
      [COMPARE, 'report, ignore or correct drift by name and namespace, behind an annotation of the object'],
    ],
    miss: 'No `stopIfDrifted`',
  },
  {
    id: 'D3',
    what: 'Drift has its first time and managers, bounded in reports',
    tests: [
      [
        'agent/observe/observe.component.test.ts',
        'only reports drift with onDrift "report": once, until it changes or ends',
      ],
    ],
    miss: 'The report names fields, never values; no full difference is kept',
  },
  {
    id: 'D4',
    what: 'A failed comparison is an error, never "in sync"',
    tests: [
      [
        TARGET,
        'leaves an operation open while the API server is away, does not call another package in sync, and completes it later (D4)',
      ],
      [
        'agent/observe/observe.component.test.ts',
        'that cannot read the live state is an error, and never without drift',
      ],
    ],
  },
  {
    id: 'D5',
    what: 'Corrections that somebody undoes back off, and name the other one',
    tests: [[COMPARE, 'a fight is named and backs off after five corrections (checklist D5)']],
  },
  {
    id: 'X1',
    what: 'Policies of deletion',
    tests: [
      [TARGET, 'follows the annotations of an object: ifNotPresent, ignore, prune and force (S10, R1)'],
    ],
    miss: 'Delete and wait, or keep; no policy for a whole package',
  },
  {
    id: 'X2',
    what: 'A finalizer is named with the object, and never removed',
    tests: [
      [
        TARGET,
        'applies a release although a finalizer holds a removed object, names both, and ends the removal later (X2)',
      ],
      [
        TARGET,
        'removes the other objects of a package while a finalizer holds one, and ends the removal later (X2)',
      ],
    ],
  },
  {
    id: 'X3',
    what: 'An apply waits for a namespace that is being deleted',
    tests: [[TARGET, 'waits until a namespace is deleted, and creates it again (X3)']],
  },
  {
    id: 'T1',
    what: 'Timeouts of dry run, apply, wait and removal',
    tests: [
      [
        'agent/apply/kubernetes/health/settle-kubernetes.test.ts',
        'ends when the first object is over its own time, which may be longer than that of the others',
      ],
    ],
    miss: 'The wait has a timeout for the agent and for each object; a request has one minute, a step two, a deletion 35 seconds, which nobody can set',
  },
  {
    id: 'T2',
    what: 'A newer release ends the wait for the older one, and keeps its inventory',
    tests: [
      [
        'agent/apply/settle.component.test.ts',
        'stops the wait, starts no other package, and is applied over the current one',
      ],
    ],
  },
  {
    id: 'T3',
    what: 'A hold stops changes and keeps looking',
    tests: [
      [
        'agent/apply/waits-name-a-verb.component.test.ts',
        'a removal listed in a plan can be confirmed during a hold, and is not asked for again',
      ],
    ],
  },
  {
    id: 'T4',
    what: 'A clock that jumps by years starves no timer',
    tests: [
      [
        'agent/observe/judge-health.component.test.ts',
        'is judged after 5 s, 10 s and twice as long each time up to ten minutes, also after a restart of the agent',
      ],
    ],
  },
  {
    id: 'E1',
    what: 'Outcome and reason of each object; one event for a change, none for no change',
    tests: [
      ['agent/observe/observe.component.test.ts', 'without drift changes nothing and records no event'],
    ],
  },
  {
    id: 'E2',
    what: 'One event for a change, none for a look without one',
    tests: [
      ['agent/observe/observe.component.test.ts', 'without drift changes nothing and records no event'],
      [RECONCILE, 'is tried again at the next look after PATH_CLAIMED, with one event'],
    ],
  },
  {
    id: 'E3',
    what: 'The last revisions with digest, time and outcome',
    tests: [
      [
        'agent/apply/settle.component.test.ts',
        'a failed package rolls back to the last good version, not to one that was never healthy',
      ],
    ],
    miss: '`fleet-agent history` reads the events; objects of a revision are counted in its event only',
  },
  {
    id: 'E4',
    what: 'A failure in the middle reports what was changed before',
    tests: [
      [
        'agent/apply/apply-group.component.test.ts',
        'a failed step starts no further steps, and completed steps are reported and rolled back',
      ],
    ],
  },
  {
    id: 'M1',
    what: 'Each workspace is applied by an account of its own; a refusal fails its package alone',
    tests: [
      [
        'integration/kubernetes/tenants.test.ts',
        'are applied, corrected and removed by their own accounts, and what templates brought by the agent',
      ],
    ],
  },
  {
    id: 'M2',
    what: 'An account without rights delays its removals, and blocks nobody',
    tests: [
      [
        'integration/kubernetes/tenants.test.ts',
        'leaves removals waiting when the account has lost its rights, and applies other packages',
      ],
    ],
  },
];
