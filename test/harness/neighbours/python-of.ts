import { dirname, join } from 'node:path';

/** The environment by which Ansible runs its modules with its own Python. It would take the newest that it finds, which may be a command of pyenv for a version that is not chosen. */
export const withPythonOf = (ansible: string): NodeJS.ProcessEnv => ({
  ...process.env,
  ANSIBLE_PYTHON_INTERPRETER: join(dirname(ansible), 'python3'),
});
