import type { Part } from './part.ts';
import { pythonEnvironment } from './python-environment.ts';

const version = '2.19.11';

/** Beside parts.ansible, for describeOnVersions: that of Debian 13. */
export const ansible219: Part = {
  ...pythonEnvironment({
    title: 'Ansible 2.19',
    variable: 'FLEET_ANSIBLE_2_19',
    name: 'ansible-2.19',
    version,
    packages: [`ansible-core==${version}`],
    program: 'ansible-playbook',
    proof: ['--version'],
    pythons: ['python3.13', 'python3.12', 'python3.11'],
  }),
  onlyInLong: true,
};
