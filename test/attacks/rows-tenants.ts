import { type AttackRow, row, rowOf } from './row.ts';

/** Patterns and schemas of an application repository (N1 to N9). */
export const SCHEMAS: readonly AttackRow[] = [
  row(
    'N1',
    'slow glob',
    'a .sourceignore whose wildcards would keep a backtracking matcher busy for hours',
    'ACCEPT',
  ),
  row('N2', 'bad glob', 'a .sourceignore with a range that is none, such as [z-a]', 'FIELD_INVALID'),
  row('N3', 'many globs', 'a .sourceignore with thousands of patterns', 'TOO_MANY'),
  rowOf(
    'N4',
    'broken tree',
    'a repository that cannot be read: a bad glob, a name that is not UTF-8, YAML of any depth, links in a circle, whatever makes the reader itself fail',
    '`FIELD_INVALID`, `YAML_SYNTAX`, `SOURCE_MISSING`, `INTERNAL`: its own assignments are held, those of all others are built',
    [
      ['FIELD_INVALID', 'a bad glob'],
      ['FIELD_INVALID', 'a name that is not UTF-8'],
      ['YAML_SYNTAX', 'YAML nested too deep'],
      ['SOURCE_MISSING', 'links in a circle'],
      ['INTERNAL', 'an exception that nobody expected'],
    ],
  ),
  row(
    'N5',
    'multiplying references',
    'a schema of a site input or of the configuration whose references double 40 times',
    'SCHEMA_INVALID',
  ),
  rowOf(
    'N6',
    'schema that explodes at the site',
    'a signed schema whose cost shows only with the values of a site',
    '`SITE_VALUES` for that package; the others are applied',
    [['SITE_VALUES']],
  ),
  row(
    'N7',
    'pattern beyond RE2',
    'a pattern with look-around, a back reference or repetitions that multiply',
    'SCHEMA_INVALID',
  ),
  row(
    'N8',
    'catastrophic pattern',
    'a pattern such as ^(a+)+$ and a text that does not match it',
    'CONFIG_SCHEMA',
  ),
  row(
    'N9',
    'schema bomb',
    'a schema with thousands of branches, nested without end, or with $async',
    'SCHEMA_INVALID',
  ),
];

/** What building an application repository may reach, and what it may cost (N10 to N19). */
export const BUILDS: readonly AttackRow[] = [
  rowOf(
    'N10',
    'kustomization that fetches',
    'a kustomization, or settings of its generators, that make Kustomize fetch from the office: behind a key, an anchor, a patch',
    '`FIELD_INVALID`; what is not found by name has no network: `TEMPLATE_FAILED`',
    [['FIELD_INVALID'], ['TEMPLATE_FAILED']],
  ),
  row(
    'N11',
    'schema of values that fetches',
    "a chart whose values.schema.json, also of a packed chart in it, refers to the network or to the office's disk",
    'FIELD_INVALID',
  ),
  rowOf(
    'N12',
    "another team's repository",
    'manifests that name a repository of another owner, host or workspace, directly or by a redirect, to have it read with the credentials of the scheduler',
    '`REPOSITORY_FOREIGN`; a redirect is not followed: `SOURCE_UNREACHABLE`',
    [['REPOSITORY_FOREIGN'], ['SOURCE_UNREACHABLE']],
  ),
  row(
    'N13',
    'local repository',
    'manifests that name file:, a local path, a transport that runs programs, an option, or dots that leave the owner',
    'FIELD_INVALID',
  ),
  row(
    'N14',
    'commit of another repository',
    'the commit of a private repository under the name of the own one, where the cache of the scheduler has it',
    'SOURCE_MISSING',
  ),
  row(
    'N15',
    'YAML that costs',
    'YAML of few bytes and a million values or documents, so that reading it takes minutes and gigabytes',
    'WORKSPACE_LIMIT',
  ),
  rowOf(
    'N16',
    'repository that grows',
    'a file of 1.5 GB that Git sends as 2 MB, again at each commit; contents that do not compress',
    '`WORKSPACE_LIMIT`; nothing is unpacked, and the cache is bounded',
    [
      ['WORKSPACE_LIMIT', 'compresses well'],
      ['WORKSPACE_LIMIT', 'do not compress'],
    ],
  ),
  row(
    'N17',
    'tenant over its limits',
    'a deployment target or a whole workspace with more files, bytes or objects than it may have',
    'WORKSPACE_LIMIT',
  ),
  rowOf(
    'N18',
    'address for another reconciler',
    "manifests whose repository or chart Flux, Argo CD, Rancher Fleet, Symphony or ansible-pull would fetch with the platform's credentials: of another owner or host, with a password, or a local path",
    '`REPOSITORY_FOREIGN`, `FIELD_INVALID`',
    [['REPOSITORY_FOREIGN'], ['FIELD_INVALID']],
  ),
  row(
    'N19',
    'playbook as root',
    'a playbook that ansible-pull runs as root, or as a user that was not granted',
    'OUT_OF_BOUNDS',
  ),
];

/** What a package may name on a host, and which secrets (N20 to N29). */
export const HOST_BOUNDS: readonly AttackRow[] = [
  row(
    'N20',
    'system path',
    'a package writes a file to sudoers.d, PAM, ssh, cron, ld.so, udev, systemd, /root or a home, or beside its own folder',
    'OUT_OF_BOUNDS',
  ),
  row(
    'N21',
    "the agent's own",
    "a package, the platform's own too, writes the agent's configuration, state, program or units",
    'OUT_OF_BOUNDS',
  ),
  row(
    'N22',
    'foreign unit',
    "a package enables, stops or replaces a unit of the system's or of another team's",
    'OUT_OF_BOUNDS',
  ),
  row(
    'N23',
    'unit as root',
    'a unit without User=, or with an Exec line, file, link or capability that reaches root',
    'OUT_OF_BOUNDS',
  ),
  row('N24', 'check as root', 'an exec check, which the agent runs as root', 'OUT_OF_BOUNDS'),
  row('N25', 'foreign owner', 'a file for a user or group that was not granted', 'OUT_OF_BOUNDS'),
  rowOf(
    'N26',
    'foreign secret set',
    "a file or an annotated Secret of another team's secret set, also behind an alias",
    '`OUT_OF_BOUNDS`',
    [
      ['OUT_OF_BOUNDS', 'on a host'],
      ['OUT_OF_BOUNDS', 'on a cluster'],
    ],
  ),
  row('N27', 'own grant', 'an application repository brings a Workspace that grants it root', 'UNKNOWN_KIND'),
  rowOf(
    'N28',
    'past the build',
    'a signed bundle has a package outside of the bounds that it carries; one from before bounds has a reserved path',
    '`OUT_OF_BOUNDS`: that package fails, the others go on',
    [
      ['OUT_OF_BOUNDS', 'bounds that its bundle carries'],
      ['OUT_OF_BOUNDS', 'by a site value or by its time'],
      ['OUT_OF_BOUNDS', 'without bounds'],
      ['OUT_OF_BOUNDS', 'on a cluster'],
    ],
  ),
  row(
    'N29',
    'account by its name',
    'a service with DynamicUser= that systemd runs as an account of the host, such as root or backup, because the unit has its name',
    'OUT_OF_BOUNDS',
  ),
];

/** What one team may do to the others by its names, its order and its time (N40 to N49). */
export const OTHER_TEAMS: readonly AttackRow[] = [
  row(
    'N40',
    'unit that delays others',
    'a unit without root that is ordered before other units, is pulled in early at boot, never ends, outlives its stop, or takes weight and memory from others',
    'OUT_OF_BOUNDS',
  ),
  rowOf(
    'N41',
    'time of others',
    'checks of an hour, many checks or packages, or starts and stops of services that keep the host waiting for longer than the limit of the workspace',
    '`OUT_OF_BOUNDS` for one package, `WORKSPACE_LIMIT` for all of a workspace',
    [
      ['OUT_OF_BOUNDS', 'more than its limit'],
      ['WORKSPACE_LIMIT', 'all its packages'],
    ],
  ),
  row(
    'N42',
    "another team's secret path",
    'a secret at a path below /run/fleet-agent/secrets that is not of its own name',
    'OUT_OF_BOUNDS',
  ),
  row(
    'N43',
    'critical without a grant',
    'a deployment target that its team marks critical, so that its failing check stops the packages of every team',
    'OUT_OF_BOUNDS',
  ),
  row(
    'N44',
    "another package's name",
    "a package claims a path, unit, object or site input of another team's, with names that come first by alphabet, also while that team's package is held",
    'OBJECT_CLASH',
  ),
  row(
    'N45',
    "another team's workload",
    "a Workload or target with the name of another team's, to take its place in the bundle, also while that team's repository cannot be read",
    'NAME_CLASH',
  ),
  row(
    'N46',
    "another team's configuration",
    'a Workload or target with a name that a Config, ConfigSchema or SchedulingPolicy of the platform selects, to get its values, namespace or cluster types',
    'OUT_OF_BOUNDS',
  ),
  row(
    'N47',
    "another team's site value",
    "a package asks for a site value that its workspace was not granted, or that another team's package reads",
    'OUT_OF_BOUNDS',
  ),
];

/** Values of one team that no reader takes (N60 to N69). */
export const POISON: readonly AttackRow[] = [
  rowOf(
    'N60',
    'poisoned release',
    'a value at, over or far over any limit of a document that is signed: a name of 300 characters, a folder of 1,500, 65 names of one image, 10,001 fields',
    'ACCEPT; the package is held by name, and all others are released',
    [['ACCEPT']],
  ),
  rowOf(
    'N61',
    'poisoned before',
    'the same in a release that an earlier version signed, so that every later build fails',
    'ACCEPT; it is passed over, and nothing is removed for it',
    [['ACCEPT']],
  ),
  rowOf(
    'N62',
    'any field',
    'any other value in any field of a Workload, a HostPackage or an object: limits, names of others, types, depths, sizes',
    "ACCEPT; another team's next version is built, travels and is applied, and one that is withdrawn leaves",
    [['ACCEPT']],
  ),
];

/** Tenants on one cluster, whatever the scheduler has let through (N80 to N85). */
export const ON_ONE_CLUSTER: readonly AttackRow[] = [
  row(
    'N80',
    'the neighbour',
    'a signed bundle, made by hand, with objects of a tenant in the namespace of another: 100 each way, every kind, in lists, with marks of the other',
    'OUT_OF_BOUNDS',
  ),
  row(
    'N81',
    'the whole cluster',
    'the same with objects of kinds that have no namespace, also of kinds that only the cluster knows or of which a definition says that they have one, or in a namespace of nobody',
    'OUT_OF_BOUNDS',
  ),
  row(
    'N82',
    'the agent itself',
    "any package, the platform's too, with objects in the namespace of the agent, of the accounts, of the system, or with rights for their accounts",
    'OUT_OF_BOUNDS',
  ),
  row(
    'N83',
    'forged bounds',
    'a signed bundle whose bounds allow a tenant everything, where the agent acts by the account of the workspace',
    'API_DENIED',
  ),
  row(
    'N84',
    'a takeover',
    'an annotation by which a tenant takes over an object of Helm, Flux or another tool, without a grant or against the rule of the platform',
    'PATH_CLAIMED',
  ),
  rowOf(
    'N85',
    "a controller's rights",
    "an object that has a controller of the cluster write into another namespace with the controller's rights: a HelmRelease, Kustomization or HelmChart with another targetNamespace, an Application with another destination",
    '`NAMESPACE_FOREIGN`; at the agent `OUT_OF_BOUNDS`',
    [['NAMESPACE_FOREIGN'], ['OUT_OF_BOUNDS', 'at the agent']],
  ),
];

/** Secret values and image names of an application repository (N30 to N39). */
export const SHOWN_SECRETS: readonly AttackRow[] = [
  rowOf(
    'N30',
    'another spelling',
    'naming an image in another spelling than its signature policy and the lock file do',
    '`IMAGE_UNSIGNED`; the lock entry holds for every spelling',
    [['IMAGE_UNSIGNED', 'spelled in another way']],
  ),
  rowOf(
    'N31',
    'values in a difference',
    'a Secret in JSON, a list, a template, a text, a script or with a mistake, so that a difference or a pull request shows its values',
    'ACCEPT; `***` is shown, and whether it differs',
    [['ACCEPT', 'are masked, and a change shows only that they differ']],
  ),
  row(
    'N33',
    'values in a mistake',
    'a Secret with a mistake in it, so that the message, which the hub logs and the held assignment shows, quotes its value',
    'OBJECT_INVALID',
  ),
];
