import type { Part } from './part.ts';
import { pythonEnvironment } from './python-environment.ts';

const version = '2.21.5';

/** Beside parts.ansible, for describeOnVersions: the newest. */
export const ansible221: Part = {
  ...pythonEnvironment({
    title: 'Ansible 2.21',
    variable: 'FLEET_ANSIBLE_2_21',
    name: 'ansible-2.21',
    version,
    packages: [`ansible-core==${version}`],
    program: 'ansible-playbook',
    proof: ['--version'],
    pythons: ['python3.14', 'python3.13', 'python3.12'],
  }),
  onlyInLong: true,
};
