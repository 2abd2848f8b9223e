import { hostPackage, hostTarget, workload } from '../../../harness/fleets/two-teams.ts';
import type { Reach } from './reached-limits.ts';

/** A host with this one check. */
const check = (one: object, more: object = {}): Readonly<Record<string, string>> => ({
  'workload/workload.yaml': workload('hostile', [hostTarget]),
  'host/package.yaml': hostPackage('hostile', {
    files: [{ path: '/etc/hostile/a', content: 'A=1\n' }],
    checks: [{ name: 'up', ...one }],
    ...more,
  }),
});

const service = { name: 'hostile.service', active: true, enabled: false };
const json = (part: string): string => `host-package ${part}`;

/** How a team reaches a lower limit. */
export const REACHED_BELOW: Readonly<Record<string, Pick<Reach, 'files'>>> = {
  [json('/checks[]/argv minItems')]: {
    files: (count) => check({ type: 'exec', argv: Array.from({ length: count }, () => '/bin/true') }),
  },
  [json('/checks[]/timeoutSeconds minimum')]: {
    files: (value) => check({ type: 'exec', argv: ['/bin/true'], timeoutSeconds: value }),
  },
  [json('/checks[]/stableSeconds minimum')]: {
    files: (value) => check({ type: 'unit', unit: service.name, stableSeconds: value }, { units: [service] }),
  },
  [json('/checks[]/status minimum')]: {
    files: (value) => check({ type: 'http', url: 'http://127.0.0.1/', status: value }),
  },
  [json('/probes[]/host minLength')]: {
    files: (length) => check({ type: 'tcp', address: `${'h'.repeat(length)}:1` }),
  },
  [json('/probes[]/port minimum')]: {
    files: (value) => check({ type: 'tcp', address: `127.0.0.1:${value}` }),
  },
  [json('/probes[]/maxAgeSeconds minimum')]: {
    files: (value) => check({ type: 'file', path: '/etc/hostile/a', maxAgeSeconds: value }),
  },
  [json('/probes[]/timeoutSeconds minimum')]: {
    files: (value) => check({ type: 'tcp', address: '127.0.0.1:1', timeoutSeconds: value }),
  },
};

const PLATFORM = 'the platform alone writes it: cluster types, policies, registrations and grants';
const MEASURED = 'the program counts it, and no text of a team';
const REPOSITORY = 'tried in list-sources.test.ts, without the repository of a team';
const DEBIAN = 'needs a Debian archive; parseHostPackage judges it with the rest of package.json';
const ANSIBLE = 'needs a playbook with its parts; parseHostPackage judges it with the rest of package.json';

export const UNREACHED_BELOW: Readonly<Record<string, string>> = {
  'bundle-config /assignments[]/rules/objects[] minimum': PLATFORM,
  'bundle-config /objectRules[]/health/current minLength': PLATFORM,
  'bundle-config /objectRules[]/health/failed minLength': PLATFORM,
  'bundle-config /objectRules[]/health/inProgress minLength': PLATFORM,
  'bundle-config /objectRules[]/ignoreManagers[] minLength': PLATFORM,
  'bundle-config /objectRules[]/kinds minItems': PLATFORM,
  'bundle-config /objectRules[]/names minItems': PLATFORM,
  'bundle-config /objectRules[]/namespaces minItems': PLATFORM,
  'bundle-config /assignments[]/bounds/seconds minimum': PLATFORM,
  'bundle-config /requirements/diskBytes minimum': PLATFORM,
  'bundle-config /closure[]/size minimum': MEASURED,
  'bundle-config /imagePolicy[]/match minItems': PLATFORM,
  'bundle-config /imagePolicy[]/certificates/signers minItems': PLATFORM,
  'bundle-config /reboot/windows minItems': PLATFORM,
  'bundle-predicate /sources[]/described/version minLength': REPOSITORY,
  'bundle-predicate /held[]/at/line minimum': MEASURED,
  'bundle-predicate /held[]/at/column minimum': MEASURED,
  'candidate /sources[]/described/version minLength': REPOSITORY,
  [json('/files[]/size minimum')]: MEASURED,
  [json('/secrets[]/size minimum')]: MEASURED,
  [json('/playbooks[]/playbook minLength')]: ANSIBLE,
  [json('/playbooks[]/timeoutSeconds minimum')]: ANSIBLE,
  [json('/playbooks[]/checkSeconds minimum')]: ANSIBLE,
  [json('/install/packages minItems')]: DEBIAN,
  [json('/install/hooks[]/timeoutSeconds minimum')]: DEBIAN,
  'host-package /rauc/size minimum': PLATFORM,
};
