import { join, relative, sep } from 'node:path';

/** For each folder, its folders and files in the order the data moves: an import goes to the same one or to one before it. */
type Options = { readonly [folder: string]: readonly string[] };

/** What an import names, from the root of the repository: 'bundles/trust/root/root.ts', or undefined for a package. */
const targetOf = (file: string, specifier: string): string | undefined => {
  if (specifier.startsWith('#')) return `${specifier.slice(1)}.ts`;
  return specifier.startsWith('.') ? join(file, '..', specifier) : undefined;
};

/**
 * Index of `path` in the order of `folder`: that of its folder or file there, or of '*.ts' for a file of `folder` itself; -1, if the order
 * names none of them.
 */
const placeOf = (path: string, folder: string, order: readonly string[]): number => {
  const [first = '', ...rest] = path.slice(folder.length + 1).split('/');
  const named = order.indexOf(first);
  if (named >= 0 || rest.length > 0) return named;
  return order.indexOf('*.ts');
};

/** The fault of one import, for a person, or undefined. */
export const findFault = (file: string, specifier: string, orders: Options): string | undefined => {
  const target = targetOf(file, specifier);
  if (target === undefined) return undefined;
  for (const [folder, order] of Object.entries(orders)) {
    if (!file.startsWith(`${folder}/`) || !target.startsWith(`${folder}/`)) continue;
    const from = placeOf(file, folder, order);
    const to = placeOf(target, folder, order);
    if (from < 0)
      return `${file} has no place in the order of ${folder}/, which names neither it nor its folder (.oxlintrc.json).`;
    if (to > from)
      return `${target} comes after ${file} in the order of ${folder}/: ${order.join(', ')}. Move what both need to the earlier folder.`;
  }
  return undefined;
};

type Context = {
  readonly cwd: string;
  readonly filename: string;
  readonly options: readonly [Options?];
  readonly report: (fault: { readonly message: string; readonly node: unknown }) => void;
};
type ImportNode = { readonly source?: { readonly value?: unknown } | null };

const oneWay = {
  meta: { type: 'problem', schema: false },
  create(context: Context) {
    const file = relative(context.cwd, context.filename).split(sep).join('/');
    const check = (node: ImportNode): void => {
      if (typeof node.source?.value !== 'string') return;
      const message = findFault(file, node.source.value, context.options[0] ?? {});
      if (message !== undefined) context.report({ message, node });
    };
    return {
      ImportDeclaration: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
      ImportExpression: check,
      TSImportType: check,
    };
  },
};

type Node = {
  readonly type: string;
  readonly argument?: Node;
  readonly operator?: string;
  readonly right?: Node;
  readonly consequent?: Node;
  readonly alternate?: Node;
  readonly properties?: readonly Node[];
};

const isObject = (node: Node | undefined): node is Node & { readonly properties: readonly Node[] } =>
  node?.type === 'ObjectExpression';

const isOneMember = (node: Node | undefined): boolean =>
  isObject(node) && node.properties.length === 1 && node.properties[0]?.type === 'Property';

const isEmpty = (node: Node | undefined): boolean => isObject(node) && node.properties.length === 0;

/** Whether `spread` is `...(x && { y })` or `...(x ? { y } : {})`: one member of the object that may be absent. */
export const isConditionalMember = ({ argument }: Node): boolean => {
  if (argument?.type === 'LogicalExpression')
    return argument.operator === '&&' && isOneMember(argument.right);
  if (argument?.type !== 'ConditionalExpression') return false;
  const { consequent, alternate } = argument;
  return (isEmpty(alternate) && isOneMember(consequent)) || (isEmpty(consequent) && isOneMember(alternate));
};

const noConditionalMember = {
  meta: { type: 'suggestion', schema: false },
  create(context: Context) {
    return {
      SpreadElement(node: Node): void {
        if (isConditionalMember(node))
          context.report({
            message:
              'A spread adds one member under a condition. Write defined({ name: value }) with a value that may be undefined (bundles/defined.ts).',
            node,
          });
      },
    };
  },
};

export default {
  meta: { name: 'house' },
  rules: { 'one-way': oneWay, 'no-conditional-member': noConditionalMember },
};
