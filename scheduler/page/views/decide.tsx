import { Button, NativeSelect } from '@mantine/core';
import type { ApiResponse } from '@oazapfts/runtime';
import { type ReactNode, useState } from 'react';
import { type Call, Refusal, send } from '../api/ask.ts';
import { mayDo, mayInWorkspace, useMe } from '../api/me.ts';
import { dropDecider, keepDecider, readDecider, readToken } from '../api/session.ts';
import { TokenField } from '../parts/token-field.tsx';
import { ReasonDialog, ReasonForm, textOf } from '../parts/with-reason.tsx';

/** A decision: one POST to the hub. */
export type Decision = {
  readonly title: string;
  /** Title for the dialog and for screen readers: 'Promote qa to prod'. */
  readonly what: string;
  /** What it is about, such as the candidate: a reason that was not sent is kept for it alone. */
  readonly object: string;
  readonly decide: (
    reason: string,
    options: Parameters<Call<ApiResponse>>[0],
    choice: string,
  ) => ReturnType<Call<ApiResponse>>;
  /** Allowance that a token must have, such as 'promote:prod'. */
  readonly allowance: string;
  /** An allowance for a workspace may be enough. */
  readonly byWorkspace?: boolean;
  /** Why the allowances for workspaces are not enough here. */
  readonly whyNot?: string | undefined;
  /** What the person chooses from. */
  readonly choices?: {
    readonly label: string;
    readonly options: readonly { readonly value: string; readonly label: string }[];
  };
  readonly isMain?: boolean;
  /** What the decision changes, above the reason. @param choice what the person chose */
  readonly preview?: ReactNode | ((choice: string) => ReactNode);
};

/** A button that asks for a reason, and, where the tab has only a reader's token, for the token of a person who may decide. */
export const Decide = ({ decision }: { readonly decision: Decision }) => {
  const { title, what, isMain } = decision;
  const me = useMe();
  const isAllowed =
    me === undefined ||
    me.kind === 'token' ||
    mayDo(me, decision.allowance) ||
    (decision.byWorkspace === true && mayInWorkspace(me, decision.allowance));
  if (!isAllowed) {
    const why = decision.whyNot ?? `your roles do not allow ${decision.allowance}`;
    return (
      <Button variant="default" disabled aria-label={`${what}: ${why}`} title={why}>
        {title}
      </Button>
    );
  }
  return (
    <ReasonDialog title={title} what={what} isMain={isMain} isWide={decision.preview !== undefined}>
      {(key, close) => <DecisionForm decision={decision} idempotencyKey={key} close={close} />}
    </ReasonDialog>
  );
};

type FormProps = {
  readonly decision: Decision;
  readonly idempotencyKey: string;
  readonly close: () => void;
};

const DecisionForm = ({ decision, idempotencyKey, close }: FormProps) => {
  const { title, allowance, choices, preview } = decision;
  const [kept, setKept] = useState(readDecider);
  const [isOwnRefused, setOwnRefused] = useState(false);
  const [chosen, setChosen] = useState(choices?.options[0]?.value ?? '');
  const me = useMe();
  // The token of the tab may be of a person who may decide this, until the hub says otherwise.
  const isOwn = me?.kind === 'token' && me.person !== null && mayDo(me, allowance) && !isOwnRefused;
  const needsToken = me?.kind === 'token' && !isOwn;

  const decide = async (reason: string, fields: FormData): Promise<void> => {
    const typed = needsToken ? (kept ?? textOf(fields, 'token')) : null;
    const token = isOwn ? readToken() : typed;
    const choice = textOf(fields, 'choice');
    try {
      await send((options) => decision.decide(reason, options, choice), { token, key: idempotencyKey });
    } catch (error) {
      if (error instanceof Refusal && (error.status === 401 || error.status === 403)) {
        dropDecider();
        setKept(null);
        setOwnRefused(true);
      }
      throw error;
    }
    if (typed !== null) keepDecider(typed);
  };

  return (
    <ReasonForm
      title={title}
      decided={decision}
      decide={decide}
      close={close}
      above={
        <>
          {choices !== undefined && (
            <NativeSelect
              name="choice"
              mb="sm"
              label={choices.label}
              value={chosen}
              onChange={({ currentTarget }) => setChosen(currentTarget.value)}
              data={[...choices.options]}
            />
          )}
          {typeof preview === 'function' ? preview(chosen) : preview}
        </>
      }
      below={
        needsToken &&
        kept === null && (
          <TokenField
            mt="sm"
            label="Token of a person"
            description={`One that allows ${allowance}; it stays in this tab.`}
          />
        )
      }
    />
  );
};
