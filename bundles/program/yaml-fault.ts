import type { YAMLError } from 'yaml';

/** What is wrong with a text that is not YAML. The reader's own sentence may quote a piece of the text, which may be a secret. */
export const yamlFault = ({ code }: Pick<YAMLError, 'code'>): string =>
  code.toLowerCase().replaceAll('_', ' ');
