"""The linear algebra of 0.1 to 0.4 by its LAPACK names."""

import torch

torch.manual_seed(0)
A = torch.randn(3, 3)
S = A.mm(A.t()) + torch.eye(3)
B = torch.randn(3, 2)


def close(a, b):
    return (a - b).abs().max() < 1e-4


X, LU = torch.gesv(B, S)
print(close(S.mm(X), B), tuple(LU.size()))
u = torch.potrf(S)
print(close(u.t().mm(u), S), close(torch.potrs(B, u), X), close(torch.potri(u), S.inverse()))
e, V = torch.symeig(S, eigenvectors=True)
print(close(V.mm(torch.diag(e)).mm(V.t()), S), torch.symeig(S)[1].numel())
values, vectors = torch.eig(S, True)
print(close(values[:, 1], torch.zeros(3)), close(S.mm(vectors), vectors * values[:, 0]))
U, s, V = torch.svd(B, some=True)
print(close(U.mm(torch.diag(s)).mm(V.t()), B))
T = torch.triu(S)
print(close(T.mm(torch.trtrs(B, T)[0]), B), close(torch.ger(s, s), s.unsqueeze(1) * s))
batch = torch.stack([S, S * 2])
factors = batch.btrifact()
b = torch.randn(2, 3)
solved = b.btrisolve(*factors)
print(close(torch.bmm(batch, solved.unsqueeze(2)).squeeze(2), b))
P = torch.randn(5, 2)
c = torch.randn(5, 1)
solution = torch.gels(c, P)[0][:2]
print(close(P.t().mm(P).mm(solution), P.t().mm(c)), torch.geqrf(P)[0].size())
upper, pivots = torch.pstrf(S)
order = pivots.long()
print(close(upper.t().mm(upper), S[order][:, order]))
print(
    torch.cat(inputs=[s, s], dimension=0).size(),
    torch.stack(seq=[s, s]).size(),
    s.div(value=2).size(),
)
M = torch.addmm(0.5, S, 2, A, A)
print(close(M, 0.5 * S + 2 * A.mm(A)), close(torch.addcmul(S, 2, A, A), S + 2 * A * A))
print(
    close(
        S.clone().addmv(2, 3, A, A[0]) if False else torch.addmv(2, A[0], 3, S, A[1]),
        2 * A[0] + 3 * S.mv(A[1]),
    )
)
print(close(S.clone().addcdiv_(2, A, S), S + 2 * A / S), close(torch.add(S, 3, A), S + 3 * A))
print(close(torch.addr(2, S, 3, A[0], A[1]), 2 * S + 3 * torch.ger(A[0], A[1])))
print(close(torch.baddbmm(2, batch, 3, batch, batch), 2 * batch + 3 * batch.bmm(batch)))
print(close(torch.addbmm(2, S, 3, batch, batch), 2 * S + 3 * batch.bmm(batch).sum(0)))
