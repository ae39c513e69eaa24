"""The advanced NLP tutorial of 0.2: log_sum_exp on Variables, argmax by max(1)[1], Viterbi."""

import torch
import torch.autograd as autograd
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(1)
START_TAG, STOP_TAG = "<START>", "<STOP>"


def to_scalar(var):
    return var.view(-1).data.tolist()[0]


def argmax(vec):
    _, idx = torch.max(vec, 1)
    return to_scalar(idx)


def log_sum_exp(vec):
    max_score = vec[0, argmax(vec)]
    max_score_broadcast = max_score.view(1, -1).expand(1, vec.size()[1])
    return max_score + torch.log(torch.sum(torch.exp(vec - max_score_broadcast)))


class BiLSTM_CRF(nn.Module):
    def __init__(self, vocab_size, tag_to_ix, embedding_dim, hidden_dim):
        super(BiLSTM_CRF, self).__init__()
        self.hidden_dim, self.tag_to_ix, self.tagset_size = hidden_dim, tag_to_ix, len(tag_to_ix)
        self.word_embeds = nn.Embedding(vocab_size, embedding_dim)
        self.lstm = nn.LSTM(embedding_dim, hidden_dim // 2, num_layers=1, bidirectional=True)
        self.hidden2tag = nn.Linear(hidden_dim, self.tagset_size)
        self.transitions = nn.Parameter(torch.randn(self.tagset_size, self.tagset_size))
        self.transitions.data[tag_to_ix[START_TAG], :] = -10000
        self.transitions.data[:, tag_to_ix[STOP_TAG]] = -10000

    def init_hidden(self):
        return (
            autograd.Variable(torch.zeros(2, 1, self.hidden_dim // 2)),
            autograd.Variable(torch.zeros(2, 1, self.hidden_dim // 2)),
        )

    def _forward_alg(self, feats):
        init_alphas = torch.Tensor(1, self.tagset_size).fill_(-10000.0)
        init_alphas[0][self.tag_to_ix[START_TAG]] = 0.0
        forward_var = autograd.Variable(init_alphas)
        for feat in feats:
            alphas_t = []
            for next_tag in range(self.tagset_size):
                emit_score = feat[next_tag].view(1, -1).expand(1, self.tagset_size)
                trans_score = self.transitions[next_tag].view(1, -1)
                next_tag_var = forward_var + trans_score + emit_score
                alphas_t.append(log_sum_exp(next_tag_var))
            forward_var = torch.cat(alphas_t).view(1, -1)
        return log_sum_exp(forward_var + self.transitions[self.tag_to_ix[STOP_TAG]])

    def _get_lstm_features(self, sentence):
        embeds = self.word_embeds(sentence).view(len(sentence), 1, -1)
        lstm_out, _ = self.lstm(embeds, self.init_hidden())
        return self.hidden2tag(lstm_out.view(len(sentence), self.hidden_dim))

    def _score_sentence(self, feats, tags):
        score = autograd.Variable(torch.Tensor([0]))
        tags = torch.cat([torch.LongTensor([self.tag_to_ix[START_TAG]]), tags])
        for i, feat in enumerate(feats):
            score = score + self.transitions[tags[i + 1], tags[i]] + feat[tags[i + 1]]
        return score + self.transitions[self.tag_to_ix[STOP_TAG], tags[-1]]

    def neg_log_likelihood(self, sentence, tags):
        feats = self._get_lstm_features(sentence)
        return self._forward_alg(feats) - self._score_sentence(feats, tags)

    def forward(self, sentence):
        feats = self._get_lstm_features(sentence)
        backpointers = []
        init_vvars = torch.Tensor(1, self.tagset_size).fill_(-10000.0)
        init_vvars[0][self.tag_to_ix[START_TAG]] = 0
        forward_var = autograd.Variable(init_vvars)
        for feat in feats:
            bptrs_t, viterbivars_t = [], []
            for next_tag in range(self.tagset_size):
                next_tag_var = forward_var + self.transitions[next_tag]
                best_tag_id = argmax(next_tag_var)
                bptrs_t.append(best_tag_id)
                viterbivars_t.append(next_tag_var[0][best_tag_id])
            forward_var = (torch.cat(viterbivars_t) + feat).view(1, -1)
            backpointers.append(bptrs_t)
        terminal_var = forward_var + self.transitions[self.tag_to_ix[STOP_TAG]]
        best_tag_id = argmax(terminal_var)
        path_score = terminal_var[0][best_tag_id]
        best_path = [best_tag_id]
        for bptrs_t in reversed(backpointers):
            best_tag_id = bptrs_t[best_tag_id]
            best_path.append(best_tag_id)
        best_path.pop()
        best_path.reverse()
        return path_score, best_path


training_data = [
    (["the", "wall", "street", "journal"], ["B", "I", "I", "I"]),
    (["georgia", "tech", "is", "a", "university"], ["B", "I", "O", "O", "B"]),
]
word_to_ix = {}
for sentence, tags in training_data:
    for word in sentence:
        word_to_ix.setdefault(word, len(word_to_ix))
tag_to_ix = {"B": 0, "I": 1, "O": 2, START_TAG: 3, STOP_TAG: 4}
model = BiLSTM_CRF(len(word_to_ix), tag_to_ix, 5, 4)
optimizer = optim.SGD(model.parameters(), lr=0.05, weight_decay=1e-4)
for epoch in range(25):
    total = 0
    for sentence, tags in training_data:
        model.zero_grad()
        sentence_in = autograd.Variable(torch.LongTensor([word_to_ix[w] for w in sentence]))
        targets = torch.LongTensor([tag_to_ix[t] for t in tags])
        neg_log_likelihood = model.neg_log_likelihood(sentence_in, targets)
        total += neg_log_likelihood.data[0]
        neg_log_likelihood.backward()
        optimizer.step()
    if epoch % 8 == 0:
        print(epoch, "%.4f" % total)
score, path = model(
    autograd.Variable(torch.LongTensor([word_to_ix[w] for w in training_data[0][0]]))
)
print("%.3f" % score.data[0], path)
