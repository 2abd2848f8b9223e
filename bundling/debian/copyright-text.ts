import type { NodeBuild } from './node-build.ts';

type Contents = {
  /** Of the npm packages in the program. */
  readonly notices: string;
  /** undefined: Node is in another package. */
  readonly node: NodeBuild | undefined;
};

/** The copyright file of a program's package. */
export const copyrightText = ({ notices, node }: Contents): string => `Fleet Ferry
Copyright: the Fleet Ferry authors
License: Apache-2.0
 On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.

This package contains, below /usr/lib:

SQLite, in better_sqlite3.node
License: public domain

The npm packages of which its modules are part

${notices}${node === undefined ? '' : `\n${nodeCopyright(node)}`}`;

/** The part about Node, the whole file of its own package. */
export const nodeCopyright = (
  node: NodeBuild,
): string => `Node.js ${node.version}, the official build, unchanged

${node.licence}
`;
