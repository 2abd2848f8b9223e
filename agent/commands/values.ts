import { readValues, type ShownValue, type ShownValues } from '../observe/read-values.ts';
import { AgentCommand, openToRead } from './agent-command.ts';

export default class Values extends AgentCommand {
  static override summary = 'Show the values of the site that packages here take, and where each comes from.';
  static override description =
    'From says which place gives the value: default, layers, site, agent, local (a person here, with "values set") or fixed layers; ' +
    'a later one overrides an earlier one. Editable by site: "values set" may change it. Exit code 8 when a local value is held.';
  static override examples = ['<%= config.bin %> values', '<%= config.bin %> values --json'];

  async run(): Promise<ShownValues> {
    const { flags } = await this.parse(Values);
    const shown = await this.reading(flags, readValues, openToRead);
    this.print(
      shown.values.length === 0
        ? `No package here takes a value of the site${shown.release === null ? ': no release was accepted here yet' : ''}.`
        : {
            head: ['NAME', 'VALUE', 'FROM', 'UNIT', 'EDITABLE BY', 'TAKEN BY', 'NOTE'],
            rows: shown.values.map(toRow),
          },
    );
    if (shown.values.some(({ local }) => local?.state === 'held')) process.exitCode = 8;
    return shown;
  }
}

const toRow = (one: ShownValue): readonly string[] => [
  one.name,
  one.value === undefined ? '-' : JSON.stringify(one.value),
  one.origin ?? '-',
  one.unit ?? '-',
  one.editableBy ?? '-',
  one.takenBy.map(({ assignment }) => assignment).join(', ') || '-',
  noteOf(one).join('; '),
];

const noteOf = ({ local, office, takenBy }: ShownValue): readonly string[] => [
  ...(local === null
    ? []
    : [
        `${local.state === 'in force' ? 'local' : `local ${JSON.stringify(local.value)} is ${local.state}`}, by ${local.person} at ${local.at}: ${local.reason}`,
        `the office has ${office === undefined ? 'no value' : JSON.stringify(office)}`,
      ]),
  ...(local?.message ? [[local.code, local.message].filter((part) => part !== null).join(': ')] : []),
  ...takenBy.flatMap(({ assignment, waits }) => (waits === null ? [] : [`${assignment} waits: ${waits}`])),
];
